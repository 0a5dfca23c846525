// A text area for texts of any length. A long text is edited part by part. Files can be dropped on it.

import { h, newId, put } from './dom.js';
import { number, t } from './i18n.js';
import { cutInParts, endsInCrLf, fromArea, inArea, PART, placeInArea } from './parts.js';

/** A text with more characters is refused, since the body would be over the limit of the service. */
const MOST = 32 * 1024 * 1024;

/**
 * @typedef {object} Editor
 * @property {HTMLElement} element
 * @property {() => string} text
 * @property {(text: string) => void} setText replaces the whole text, and calls `onchange`
 * @property {(start: number, end: number) => void} select shows and selects characters (UTF-16)
 */

/**
 * @param {{label: string, placeholder?: string, text?: string, rows?: number, mono?: boolean,
 *   onchange: () => void, tools?: Node[]}} options
 * @returns {Editor}
 */
export function createEditor({ label, placeholder = '', text = '', rows = 10, mono = false, onchange, tools = [] }) {
  let parts = cutInParts(text);
  let shown = 0;
  let crlf = false;
  /** Whether all parts are selected. The text area itself can only select its own part. */
  let all = false;

  const id = newId('editor');
  const area = h('textarea', {
    id,
    rows,
    placeholder,
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
    class: mono ? 'area mono' : 'area',
    oninput,
    onpaste,
    onkeydown,
    oncopy,
    oncut,
    onmousedown: () => selectAll(false),
  });
  const file = h('input', {
    type: 'file',
    class: 'visually-hidden',
    tabIndex: -1,
    'aria-hidden': 'true',
    onchange: picked,
  });
  const pager = h('div', { class: 'pager', hidden: true });
  const said = h('p', { class: 'said', role: 'status' });
  const element = h(
    'div',
    { class: 'editor', ondragover, ondragleave: () => mark(false), ondrop },
    h(
      'div',
      { class: 'bar' },
      h('label', { for: id, class: 'label' }, label),
      h('span', { class: 'spring' }),
      tools,
      h('button', { type: 'button', class: 'quiet', onclick: () => file.click() }, t('editor.open')),
      h('button', { type: 'button', class: 'quiet', onclick: clear }, t('editor.clear')),
    ),
    area,
    pager,
    said,
    file,
  );
  show(0);

  function show(index) {
    shown = index;
    crlf = endsInCrLf(parts[shown]);
    area.value = inArea(parts[shown]);
    drawPager();
  }

  function drawPager() {
    pager.hidden = parts.length === 1;
    if (pager.hidden) return;
    const before = parts.slice(0, shown).reduce((sum, part) => sum + part.length, 0);
    const turn = (by, words) =>
      h(
        'button',
        {
          type: 'button',
          class: 'quiet',
          disabled: !(shown + by in parts),
          onclick: () => {
            show(shown + by);
            area.focus();
          },
        },
        words,
      );
    put(
      pager,
      turn(-1, t('editor.previous')),
      turn(1, t('editor.next')),
      h(
        'span',
        {},
        t('editor.part', { part: shown + 1, parts: parts.length, from: before + 1, to: before + parts[shown].length }),
      ),
    );
  }

  function selectAll(selected) {
    if (all !== selected) said.textContent = selected ? t('editor.all') : '';
    all = selected;
  }

  function onkeydown(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === 'a') selectAll(parts.length > 1);
    else if (/^(Arrow|Home|End|Page|Escape|Tab)/.test(event.key)) selectAll(false);
  }

  function oncopy(event) {
    if (!all) return;
    event.preventDefault();
    event.clipboardData.setData('text/plain', parts.join(''));
  }

  function oncut(event) {
    oncopy(event);
    if (all) setText('');
  }

  function oninput() {
    if (all) {
      selectAll(false);
      parts = [''];
      shown = 0;
      drawPager();
    }
    parts[shown] = fromArea(area.value, crlf);
    if (parts[shown].length > 2 * PART) {
      const caret = area.selectionEnd;
      replaceShown(parts[shown], caret);
    }
    onchange();
  }

  /** Cuts the shown part again, and shows the part that now holds `caret`, a place in the old one. */
  function replaceShown(content, caret) {
    const cut = cutInParts(content);
    parts.splice(shown, 1, ...cut);
    let left = caret;
    let index = 0;
    while (index < cut.length - 1 && left > cut[index].length) {
      left -= cut[index].length;
      index += 1;
    }
    show(shown + index);
    area.setSelectionRange(left, left);
  }

  function onpaste(event) {
    const pasted = event.clipboardData?.getData('text/plain') ?? '';
    if (event.clipboardData?.files.length && !pasted) {
      event.preventDefault();
      read(event.clipboardData.files[0]);
      return;
    }
    if (all) {
      event.preventDefault();
      setText(inArea(pasted));
      return;
    }
    if (area.value.length + pasted.length <= 2 * PART) return; // the browser's own way keeps its undo
    event.preventDefault();
    const plain = inArea(pasted);
    const head = area.value.slice(0, area.selectionStart) + plain;
    replaceShown(head + area.value.slice(area.selectionEnd), head.length);
    onchange();
  }

  function setText(given) {
    if (given.length > MOST) {
      said.textContent = t('editor.too_long', { most: number(MOST) });
      return;
    }
    said.textContent = '';
    all = false;
    parts = cutInParts(given);
    show(0);
    onchange();
  }

  function clear() {
    setText('');
    area.focus();
  }

  function picked() {
    if (file.files.length) read(file.files[0]);
    file.value = '';
  }

  async function read(chosen) {
    try {
      const bytes = await chosen.arrayBuffer();
      setText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch {
      said.textContent = t('editor.no_text', { name: chosen.name });
    }
  }

  function mark(over) {
    element.classList.toggle('over', over);
  }

  function ondragover(event) {
    event.preventDefault();
    mark(true);
  }

  function ondrop(event) {
    mark(false);
    if (event.dataTransfer.files.length) {
      event.preventDefault();
      read(event.dataTransfer.files[0]);
      return;
    }
    const dropped = event.dataTransfer.getData('text/plain');
    if (dropped.length > PART) {
      event.preventDefault();
      setText(dropped);
    }
  }

  function select(start, end) {
    let before = 0;
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index];
      if (start < before + part.length || index === parts.length - 1) {
        if (index !== shown) show(index);
        area.setSelectionRange(placeInArea(part, start - before), placeInArea(part, end - before));
        scrollToSelection();
        return;
      }
      before += part.length;
    }
  }

  /** Scrolls to the selection. Browsers do that only when a text area gets the focus. */
  function scrollToSelection() {
    const focused = document.activeElement;
    area.blur();
    area.focus();
    if (focused instanceof HTMLElement && focused !== area) focused.focus({ preventScroll: true });
  }

  return { element, text: () => parts.join(''), setText, select };
}
