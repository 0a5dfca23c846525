// Makes all tables and cards of the page, with a name, headings and a box that scrolls.

import { h } from './dom.js';

/** A part of a panel. It is a landmark, so its label must be unique on the tab. */
export const card = (label, ...children) => h('section', { class: 'card', 'aria-label': label }, children);

/** A part of a panel with its label as a heading. */
export const titledCard = (label, ...children) => card(label, h('h3', {}, label), children);

/**
 * A table in a box that scrolls where the table is too wide and, with `short`, where it is too long.
 * @param {string} label its name, shown with `caption`
 * @param {Array<[string|Node, boolean?]>} columns headings, and whether the column holds numbers
 * @param {Node[]} rows
 * @param {{caption?: boolean, short?: boolean, sticky?: boolean}} [options] `sticky` keeps the first column visible
 */
export function table(label, columns, rows, { caption = false, short = false, sticky = false } = {}) {
  const heads = columns.map(([words, isNumber]) =>
    words instanceof Node ? words : h('th', { scope: 'col', class: isNumber ? 'num' : null }, words),
  );
  return h(
    'div',
    { class: short ? 'scroller short' : 'scroller', tabIndex: 0, role: 'group', 'aria-label': label },
    h(
      'table',
      { class: sticky ? 'sticky' : null },
      h('caption', { class: caption ? null : 'visually-hidden' }, label),
      h('thead', {}, h('tr', {}, heads)),
      h('tbody', {}, rows),
    ),
  );
}

export const row = (...cells) => h('tr', {}, cells);

/** The cell that names a row. */
export const name = (...content) => h('th', { scope: 'row' }, content);

export const cell = (...content) => h('td', {}, content);

export const num = (...content) => h('td', { class: 'num' }, content);

/** A bar below a number: its share of the largest number in the column. */
export const underline = (share) =>
  h('span', { class: 'under', css: { '--size': `${Math.max(0, Math.min(1, share)) * 100}%` } });
