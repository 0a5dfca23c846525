// Shares as bars. Each number of a bar is also in a table or in a text beside it.

import { h } from './dom.js';
import { number, percent, t } from './i18n.js';

/** The sections of a prompt in the order in which they are shown. */
export const SECTIONS = ['system', 'tools', 'messages', 'media', 'schema', 'frame'];

/** @param {Object<string, number>} details tokens by section; a frame may be negative */
export function sectionBar(details) {
  const shown = SECTIONS.filter((name) => (details[name] ?? 0) > 0);
  const total = shown.reduce((sum, name) => sum + details[name], 0);
  return h(
    'div',
    {
      class: 'stack',
      role: 'img',
      'aria-label': t('request.bar', {
        sections: shown.map((name) => `${t(`section.${name}`)} ${number(details[name])}`).join(', '),
      }),
    },
    shown.map((name) => {
      const share = details[name] / total;
      return h(
        'span',
        {
          class: `slice s-${name}`,
          css: { '--share': String(details[name]) },
          title: `${t(`section.${name}`)}: ${number(details[name])}`,
        },
        share > 0.12 && h('span', {}, t(`section.${name}`)),
      );
    }),
  );
}

/**
 * How much of a window is used. `parts` are shares of 1, each with a class. What is more than 1 is cut off, and a text
 * says so.
 * @param {Array<[string, number]>} parts
 */
export function meter(parts, label) {
  let left = 1;
  return h(
    'div',
    { class: 'meter', role: 'img', 'aria-label': label },
    parts.map(([kind, share]) => {
      const size = Math.max(0, Math.min(left, share));
      left -= size;
      return h('span', { class: `fill ${kind}`, css: { '--size': `${(size * 100).toFixed(3)}%` } });
    }),
  );
}

/** A share of a window in a table's cell. */
export function shareCell(share) {
  if (share === null) return t('unknown');
  return h(
    'span',
    { class: 'sharecell' },
    meter([[share > 1 ? 'over' : 'used', share]], percent(share)),
    percent(share),
  );
}
