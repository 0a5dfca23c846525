// Shows a few tokens in a line, where all of them fit.

import { h } from './dom.js';
import { t } from './i18n.js';
import { EMPTY } from './rows.js';
import { spaced, spelled, spoken } from './visible.js';

/** The text of a token: its characters, or its bytes where these are no whole characters. */
export const spelling = (token) => (token.text === '' ? EMPTY : spelled(token));

/** The text of a token for screen readers. */
export const spellingSpoken = ({ text, bytes_hex: hex }) =>
  text === null ? t('token.bytes', { hex: spaced(hex) }) : text === '' ? t('token.edge') : spoken(text);

/**
 * Tokens with their ids below.
 * @param {Array<{id: number|null, text: string|null, bytes_hex: string|null}>} tokens
 */
export function chips(tokens, label) {
  return h(
    'ol',
    { class: 'chiprow', 'aria-label': label },
    tokens.map((token, index) =>
      h(
        'li',
        {},
        h('span', { class: `tok c${index % 6}${token.text === null ? ' chipped' : ''}` }, spelling(token)),
        token.id !== null && token.id !== undefined && h('small', {}, String(token.id)),
      ),
    ),
  );
}
