// The same input on several models: a table of what /v1/compare answers.

import { post } from './api.js';
import { shareCell } from './bars.js';
import { h } from './dom.js';
import { bandText, methodBadge, moneyText } from './format.js';
import { number, t } from './i18n.js';

/** @param {object} input what countTokens takes beside the model */
export const compare = (models, input, signal) => post('v1/compare', { models, ...input }, signal);

/**
 * @param {Array<object>} rows of /v1/compare
 * @param {{characters?: number|null, onreplace: (old: string, near: string) => void}} options
 *   `characters` brings a column of characters per token
 */
export function comparisonTable(rows, { characters = null, onreplace }) {
  const most = Math.max(1, ...rows.map((row) => row.input_tokens ?? 0));
  const columns = [
    ['compare.model', false, (row) => h('th', { scope: 'row' }, row.model_ref, row.model !== row.model_ref && row.model && h('small', {}, row.model))],
    ['compare.tokens', true, (row) => num(h('b', {}, number(row.input_tokens)), h('span', { class: 'under', css: { '--size': `${(row.input_tokens / most) * 100}%` } }))],
    characters !== null && ['compare.per_token', true, (row) => num(row.input_tokens ? number(characters / row.input_tokens, { maximumFractionDigits: 2 }) : '–')],
    ['compare.cost', true, (row) => num(moneyText(row.cost), row.price_status === 'inferred' && h('abbr', { title: t('compare.inferred') }, '*'))],
    ['compare.cost_1000', true, (row) => num(moneyText(row.cost, 1000))],
    ['compare.window', true, (row) => num(shareCell(row.window_share === null ? null : Number(row.window_share)))],
    ['compare.method', false, (row) => h('td', {}, methodBadge(row.method))],
    ['compare.band', true, (row) => num(bandText(row.error_band, row.input_tokens))],
    ['compare.tokenizer', false, (row) => h('td', {}, h('code', {}, row.tokenizer))],
  ].filter(Boolean);
  return h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('compare.title') },
    h('table', { class: 'comparison' },
      h('caption', { class: 'visually-hidden' }, t('compare.title')),
      h('thead', {}, h('tr', {}, columns.map(([key, isNumber]) => h('th', { scope: 'col', class: isNumber ? 'num' : null }, t(key))))),
      h('tbody', {}, rows.map((row) => (row.error ? errorRow(row, columns.length, onreplace)
        : h('tr', {}, columns.map(([, , cell]) => cell(row))))))));
}

const num = (...content) => h('td', { class: 'num' }, content);

function errorRow(row, width, onreplace) {
  return h('tr', { class: 'failed' },
    h('th', { scope: 'row' }, row.model_ref),
    h('td', { colspan: width - 1 }, row.error.message, ' ',
      (row.error.near ?? []).map((name) => h('button', { type: 'button', class: 'chip', onclick: () => onreplace(row.model_ref, name) }, name))));
}
