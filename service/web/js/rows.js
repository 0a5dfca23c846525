// Lays tokens out in rows of a given width. It does not touch the page.

import { spelled, standIn } from './visible.js';

/**
 * The tokens of a text, in columns as in /v1/tokenize. `starts` and `ends` are places in `text` (UTF-16). `exceptions`
 * are the tokens, by index, whose own text differs from that part of `text`.
 * @typedef {object} Tokens
 * @property {string} text
 * @property {number} length
 * @property {number[]|null} ids
 * @property {number[]} starts
 * @property {number[]} ends
 * @property {Map<number, {text: string|null, bytes_hex: string|null}>} exceptions
 */

/**
 * Rows of tokens: row r begins with token `token[r]`, at place `place[r]` of its text.
 * @typedef {{token: number[], place: number[], length: number}} Rows
 */

/** The stand-in for a token without text, such as the mark at the edge of a word. */
export const EMPTY = '¦';

/** @returns {{text: string, hex: boolean}} a token as it is shown; `hex` says that bytes of it are no characters */
export function tokenText(tokens, index) {
  const exception = tokens.exceptions.get(index);
  if (exception?.bytes_hex) return { text: spelled(exception), hex: true };
  return { text: exception ? exception.text : tokens.text.slice(tokens.starts[index], tokens.ends[index]), hex: false };
}

/** The width of characters in pixels, cached. @param {CanvasRenderingContext2D} context with the font set */
export function measurer(context) {
  const narrow = context.measureText('0').width;
  const hangul = context.measureText('가').width;
  const han = context.measureText('中').width;
  const known = new Map();
  return (char, code) => {
    if (code > 0x20 && code < 0x7f) return narrow;
    if (code >= 0xac00 && code <= 0xd7a3) return hangul;
    if (code >= 0x4e00 && code <= 0x9fff) return han;
    let width = known.get(code);
    if (width === undefined) {
      width = context.measureText(standIn(char) ?? char).width;
      known.set(code, width);
    }
    return width;
  };
}

/** Pixels that a token takes beside its characters, and the same for a token that is shown as bytes or a number. */
export const GAP = 2;
export const CHIP = 10;

/**
 * Lays tokens out in rows. A token is only broken where it is wider than a row, or behind a line feed in it.
 * @param {Tokens} tokens
 * @param {number} width of a row in pixels
 * @param {(char: string, code: number) => number} measure
 * @param {'text'|'ids'} shows
 * @returns {Rows}
 */
export function layOut(tokens, width, measure, shows) {
  const rows = { token: [0], place: [0], length: 1 };
  let x = 0;

  function begin(index, place) {
    rows.token.push(index);
    rows.place.push(place);
    rows.length += 1;
    x = 0;
  }

  function put(index, size) {
    if (x + size > width && x > 0) begin(index, 0);
    x += size + GAP;
  }

  const digit = measure('0', 0x30);
  for (let index = 0; index < tokens.length; index += 1) {
    if (shows === 'ids') {
      put(index, String(tokens.ids[index]).length * digit + CHIP);
      continue;
    }
    const { text, hex } = tokenText(tokens, index);
    if (hex || text === '') {
      put(index, widthOf(text || EMPTY, measure) + CHIP);
      continue;
    }
    let size = widthOf(text, measure);
    if (size <= width && x + size > width && x > 0) begin(index, 0);
    const breaks = size > width || text.includes('\n');
    if (!breaks) {
      x += size + GAP;
      continue;
    }
    for (let place = 0; place < text.length;) {
      const code = text.codePointAt(place);
      const char = String.fromCodePoint(code);
      size = measure(char, code);
      if (x + size > width && x > 0) begin(index, place);
      x += size;
      place += char.length;
      if (char === '\n') begin(place < text.length ? index : index + 1, place < text.length ? place : 0);
    }
    x += GAP;
  }
  if (rows.token[rows.length - 1] >= tokens.length && rows.length > 1) rows.length -= 1; // behind a last line feed
  return rows;
}

function widthOf(text, measure) {
  let width = 0;
  for (let place = 0; place < text.length; place += 1) {
    let code = text.charCodeAt(place);
    if (code >= 0xd800 && code <= 0xdbff) {
      code = text.codePointAt(place);
      width += measure(String.fromCodePoint(code), code);
      place += code > 0xffff ? 1 : 0;
    } else {
      width += measure(text[place], code);
    }
  }
  return width;
}

/** The row that holds the beginning of a token. */
export function rowOf(rows, index) {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows.token[middle] < index || (rows.token[middle] === index && rows.place[middle] === 0)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The first token that holds the character at `place`. */
export function tokenAt(tokens, place) {
  let low = 0;
  let high = tokens.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens.ends[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}
