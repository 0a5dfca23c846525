// Shows what went wrong, and what can be done.

import { ApiError } from './api.js';
import { h } from './dom.js';
import { has, t } from './i18n.js';

/**
 * A box that says what went wrong. `onnear` is called with the name that the reader chose from the suggestions.
 * @param {Error} error
 * @param {(name: string) => void} [onnear]
 */
export function problem(error, onnear) {
  if (!(error instanceof ApiError)) {
    console.error(error);
    return h('div', { class: 'problem', role: 'alert' }, h('strong', {}, t('error.page')));
  }
  const title = has(`error.${error.code}`) ? t(`error.${error.code}`) : t('error.refused');
  return h(
    'div',
    { class: 'problem', role: 'alert' },
    h('strong', {}, title),
    error.message && h('span', {}, ` ${error.message}`),
    error.retryAfter !== null && h('span', {}, ` ${t('error.retry_after', { seconds: error.retryAfter })}`),
    onnear &&
      error.near.length > 0 &&
      h(
        'div',
        { class: 'chips' },
        error.near.map((name) => h('button', { type: 'button', class: 'chip', onclick: () => onnear(name) }, name)),
      ),
  );
}

/** A line of text where there is nothing to show yet. */
export const hint = (text) => h('p', { class: 'hint' }, text);
