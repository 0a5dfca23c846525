// Makes elements without HTML: whatever comes from outside is set as text.

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'open', 'hidden', 'readOnly', 'tabIndex']);

/**
 * An element. Attributes `on…` are listeners. `css` are custom properties (our content security policy forbids style
 * attributes). An attribute that is null or false is left out.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null|undefined|false|Array)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'css') for (const [key, given] of Object.entries(value)) element.style.setProperty(key, given);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replaces the children of an element. */
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let last = 0;

/** An id that no other element has, for labels. */
export function newId(prefix = 'e') {
  last += 1;
  return `${prefix}-${last}`;
}

/** Calls `run` once nothing has called the result for `delay()` milliseconds. */
export function debounced(run, delay) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...args), delay());
  };
}

/** Waits for milliseconds. When the signal aborts it rejects like a fetch. */
export function pause(delay, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delay);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Wraps `run(signal, ...)` so that a newer call aborts the older one. */
export function latest(run) {
  let controller = new AbortController();
  return (...args) => {
    controller.abort();
    controller = new AbortController();
    return run(controller.signal, ...args);
  };
}
