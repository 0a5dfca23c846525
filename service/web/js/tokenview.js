// Shows tokens in colours. Of a long text only the visible rows are in the page.

import { h, put } from './dom.js';
import { number, t } from './i18n.js';
import { EMPTY, layOut, measurer, rowOf, tokenAt, tokenText } from './rows.js';
import { spaced, spoken, standIn } from './visible.js';

const ROW = 28;
/** Browsers limit the height of an element (Firefox: 17.8 million pixels). Beyond it scrolling takes larger steps. */
const TALLEST = 8_000_000;
const COLOURS = 6;
const MORE = 6;

let views = 0;

/**
 * @param {{label: string, onselect?: (start: number, end: number) => void}} options
 * @returns {{element: HTMLElement, show: (tokens: import('./rows.js').Tokens, shows: 'text'|'ids') => void,
 *   clear: () => void, setStale: (stale: boolean) => void, activate: (index: number) => void}}
 */
export function createTokenView({ label, onselect = () => {} }) {
  views += 1;
  const prefix = `v${views}`;
  const window_ = h('div', { class: 'rows' });
  const spacer = h('div', { class: 'spacer', role: 'presentation' }, window_);
  const box = h(
    'div',
    { class: 'tokenbox', tabIndex: 0, onscroll: ask, onkeydown, onclick, onmouseover, onmouseleave, onfocus },
    spacer,
  );
  const inspector = h('div', { class: 'inspector' });
  const element = h('div', { class: 'tokenview' }, box, inspector);

  /** @type {import('./rows.js').Tokens|null} */
  let tokens = null;
  let rows = null;
  let shows = 'text';
  let active = 0;
  let width = 0;
  let asked = 0;
  let measure = null;

  new ResizeObserver(() => {
    if (tokens !== null && box.clientWidth !== width) lay();
  }).observe(box);

  function lay() {
    width = box.clientWidth;
    measure ??= measurer(fontContext(box));
    rows = layOut(tokens, Math.max(120, width - 24), measure, shows);
    spacer.style.height = `${Math.min(TALLEST, rows.length * ROW)}px`;
    draw();
  }

  const seen = () => Math.ceil(box.clientHeight / ROW);

  /** The row at the top, by the position of the scroll bar. */
  function firstRow() {
    const room = Math.max(1, Math.min(TALLEST, rows.length * ROW) - box.clientHeight);
    return Math.round((box.scrollTop / room) * Math.max(0, rows.length - box.clientHeight / ROW));
  }

  function ask() {
    asked ||= requestAnimationFrame(draw);
  }

  function draw() {
    asked = 0;
    if (tokens === null || rows === null) return;
    const top = firstRow();
    const from = Math.max(0, top - MORE);
    const to = Math.min(rows.length, top + seen() + MORE);
    const drawn = [];
    for (let row = from; row < to; row += 1) drawn.push(drawRow(row));
    put(window_, drawn);
    const exact = rows.length * ROW <= TALLEST;
    window_.style.transform = `translateY(${exact ? from * ROW : box.scrollTop - (top - from) * ROW}px)`;
    if (box.querySelector(`#${prefix}-${active}`)) box.setAttribute('aria-activedescendant', `${prefix}-${active}`);
    else box.removeAttribute('aria-activedescendant');
  }

  function drawRow(row) {
    const line = h('div', { class: 'row', role: 'presentation' });
    const end = row + 1 < rows.length ? [rows.token[row + 1], rows.place[row + 1]] : [tokens.length, 0];
    let index = rows.token[row];
    let place = rows.place[row];
    while (index < end[0] || (index === end[0] && place < end[1])) {
      line.append(drawToken(index, place, index === end[0] ? end[1] : undefined));
      index += 1;
      place = 0;
    }
    return line;
  }

  /** The characters `from` to `to` of a token. Only the piece with its first character is an option of the list. */
  function drawToken(index, from, to) {
    const { text, hex } = tokenText(tokens, index);
    const kind = shows === 'ids' || hex || text === '' ? ' chipped' : '';
    const piece = h('span', {
      class: `tok c${index % COLOURS}${kind}${index === active ? ' active' : ''}`,
      'data-token': index,
    });
    if (from === 0) {
      piece.id = `${prefix}-${index}`;
      piece.setAttribute('role', 'option');
      piece.setAttribute('aria-selected', String(index === active));
      piece.setAttribute('aria-posinset', index + 1);
      piece.setAttribute('aria-setsize', tokens.length);
      piece.setAttribute('aria-label', spokenToken(index));
    } else {
      piece.setAttribute('role', 'presentation');
    }
    if (shows === 'ids') piece.append(String(tokens.ids[index]));
    else if (hex) piece.append(text);
    else piece.append(...pieces(text === '' ? EMPTY : text.slice(from, to)));
    return piece;
  }

  function spokenToken(index) {
    const { text, hex } = tokenText(tokens, index);
    const said = hex
      ? t('token.bytes', { hex: spaced(tokens.exceptions.get(index).bytes_hex) })
      : text === ''
        ? t('token.edge')
        : spoken(text);
    return tokens.ids ? t('token.spoken', { text: said, id: String(tokens.ids[index]) }) : said;
  }

  // ------------------------------------------------------------ details of a token

  function inspect(index) {
    if (tokens === null || index >= tokens.length) {
      put(inspector);
      return;
    }
    const { text, hex } = tokenText(tokens, index);
    const start = tokens.starts[index];
    const end = tokens.ends[index];
    const held = tokens.text.slice(start, end);
    const bytes = spaced(tokens.exceptions.get(index)?.bytes_hex ?? hexOf(text));
    const item = (name, ...value) => h('span', { class: 'fact' }, h('span', { class: 'muted' }, name, ' '), ...value);
    put(
      inspector,
      item(t('token.number'), h('b', {}, number(index + 1)), ` / ${number(tokens.length)}`),
      item(t('token.id'), tokens.ids ? h('b', { class: 'id' }, String(tokens.ids[index])) : t('token.no_id')),
      hex
        ? item(t('token.part_of'), h('code', {}, ...pieces(held)))
        : item(t('token.text'), h('code', {}, ...pieces(text === '' ? EMPTY : clipped(text)))),
      item(t('token.bytes_name'), h('code', {}, clipped(bytes))),
      item(t('token.characters'), `${number(start)}–${number(end)}`),
    );
  }

  function onmouseover(event) {
    const index = tokenOf(event.target);
    if (index !== null) inspect(index);
  }

  function onmouseleave() {
    inspect(active);
  }

  function onfocus() {
    inspect(active);
  }

  function onclick(event) {
    const index = tokenOf(event.target);
    if (index === null) return;
    activate(index);
    onselect(tokens.starts[index], tokens.ends[index]);
  }

  const MOVES = {
    ArrowRight: () => active + 1,
    ArrowLeft: () => active - 1,
    ArrowDown: () => below(1),
    ArrowUp: () => below(-1),
    PageDown: () => below(seen() - 1),
    PageUp: () => below(1 - seen()),
    Home: () => 0,
    End: () => tokens.length - 1,
  };

  function onkeydown(event) {
    if (tokens === null || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Enter') onselect(tokens.starts[active], tokens.ends[active]);
    else if (MOVES[event.key]) activate(MOVES[event.key]());
    else return;
    event.preventDefault();
  }

  /** The token `by` rows below, at the same place in its row as the active token. */
  function below(by) {
    const row = rowOf(rows, active);
    const into = active - rows.token[row];
    const wanted = Math.max(0, Math.min(rows.length - 1, row + by));
    if (wanted === row) return by > 0 ? tokens.length - 1 : 0;
    const last = wanted + 1 < rows.length ? rows.token[wanted + 1] - 1 : tokens.length - 1;
    return Math.max(rows.token[wanted], Math.min(rows.token[wanted] + into, last));
  }

  function activate(index) {
    active = Math.max(0, Math.min(tokens.length - 1, index));
    const row = rowOf(rows, active);
    const top = firstRow();
    const bottom = top + Math.floor(box.clientHeight / ROW) - 1;
    if (row < top || row > bottom) scrollTo(row < top ? row : row - Math.floor(box.clientHeight / ROW) + 1);
    draw();
    inspect(active);
  }

  function scrollTo(row) {
    const room = Math.max(1, Math.min(TALLEST, rows.length * ROW) - box.clientHeight);
    box.scrollTop = (row / Math.max(1, rows.length - box.clientHeight / ROW)) * room;
  }

  // ------------------------------------------------------------ the functions of the view

  function show(given, mode) {
    tokens = given;
    shows = tokens.ids === null ? 'text' : mode;
    active = Math.min(active, Math.max(0, tokens.length - 1));
    box.setAttribute('role', 'listbox');
    box.setAttribute('aria-label', label);
    setStale(false);
    lay();
    inspect(active);
  }

  function clear(message = '') {
    tokens = null;
    rows = null;
    active = 0;
    box.removeAttribute('role');
    box.removeAttribute('aria-label');
    box.removeAttribute('aria-activedescendant');
    setStale(false);
    spacer.style.height = 'auto';
    window_.style.transform = '';
    put(window_, message && h('p', { class: 'hint' }, message));
    put(inspector);
  }

  function setStale(stale) {
    box.classList.toggle('stale', stale);
  }

  /** Shows the token that holds a character of the text. */
  function reveal(place) {
    if (tokens !== null && tokens.length) activate(tokenAt(tokens, place));
  }

  return { element, show, clear, setStale, reveal };
}

function tokenOf(target) {
  const found = target.closest('[data-token]');
  return found === null ? null : Number(found.getAttribute('data-token'));
}

/** A text. The stand-ins for characters that cannot be seen are elements of their own. */
function pieces(text) {
  const made = [];
  let plain = '';
  for (const char of text) {
    const stand = standIn(char);
    if (stand === null) {
      plain += char;
      continue;
    }
    if (plain) made.push(plain);
    plain = '';
    made.push(h('i', {}, stand));
  }
  if (plain) made.push(plain);
  return made;
}

const clipped = (text) => (text.length > 120 ? `${text.slice(0, 120)}…` : text);

function hexOf(text) {
  return Array.from(new TextEncoder().encode(text.slice(0, 120)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
}

function fontContext(element) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = getComputedStyle(element).font;
  return context;
}
