// The same input for several models: a table of the answer of /v1/compare.

import { post } from './api.js';
import { shareCell } from './bars.js';
import { h } from './dom.js';
import { bandText, methodBadge, moneyText } from './format.js';
import { number, t } from './i18n.js';
import { cell, name, num, row, table, underline } from './tables.js';

/** @param {object} input the body of countTokens without the model */
export const compare = (models, input, signal) => post('v1/compare', { models, ...input }, signal);

/**
 * @param {Array<object>} answers rows of /v1/compare
 * @param {{characters?: number|null, onreplace: (old: string, near: string) => void}} options
 *   `characters` adds a column of characters per token
 */
export function comparisonTable(answers, { characters = null, onreplace }) {
  const most = Math.max(1, ...answers.map((answer) => answer.input_tokens ?? 0));
  const columns = [
    ['compare.model', false, ({ model_ref: ref, model }) => name(ref, model !== ref && model && h('small', {}, model))],
    ['compare.tokens', true, ({ input_tokens: n }) => num(h('b', {}, number(n)), underline(n / most))],
    characters !== null && [
      'compare.per_token',
      true,
      ({ input_tokens: n }) => num(n ? number(characters / n, { maximumFractionDigits: 2 }) : '–'),
    ],
    ['compare.cost', true, ({ cost, price_status: status }) => num(moneyText(cost), inferredMark(status))],
    ['compare.cost_1000', true, ({ cost }) => num(moneyText(cost, 1000))],
    ['compare.window', true, ({ window_share: share }) => num(shareCell(share === null ? null : Number(share)))],
    ['compare.method', false, ({ method }) => cell(methodBadge(method))],
    ['compare.band', true, ({ error_band: band, input_tokens: n }) => num(bandText(band, n))],
    ['compare.tokenizer', false, ({ tokenizer }) => cell(h('code', {}, tokenizer))],
  ].filter(Boolean);
  const rows = answers.map((answer) =>
    answer.error ? errorRow(answer, columns.length, onreplace) : row(columns.map(([, , make]) => make(answer))),
  );
  return table(
    t('compare.title'),
    columns.map(([key, isNumber]) => [t(key), isNumber]),
    rows,
    { sticky: true },
  );
}

/** A star where the price is that of another model name or host. */
export const inferredMark = (status) => status === 'inferred' && h('abbr', { title: t('compare.inferred') }, '*');

function errorRow({ model_ref: ref, error }, width, onreplace) {
  const near = (error.near ?? []).map((each) =>
    h('button', { type: 'button', class: 'chip', onclick: () => onreplace(ref, each) }, each),
  );
  return h('tr', { class: 'failed' }, name(ref), h('td', { colspan: width - 1 }, error.message, ' ', near));
}
