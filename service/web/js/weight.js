// Shows the count of a request: by section, against the window, in money, and what could not be counted.

import { meter, SECTIONS, sectionBar } from './bars.js';
import { h } from './dom.js';
import { bandText, methodBadge, moneyText, warningLines } from './format.js';
import { number, percent, t } from './i18n.js';
import { cell, name, num, row, table } from './tables.js';

/** @param {object} count of /v1/countTokens @param {object} verdict of /v1/checkBudget */
export function weightView(count, verdict) {
  return [
    h(
      'p',
      { class: 'total' },
      h('strong', {}, number(count.input_tokens)),
      ` ${t('request.tokens')} `,
      methodBadge(count.method),
    ),
    h(
      'p',
      { class: 'muted' },
      `${t('compare.band')}: ${bandText(count.error_band, count.input_tokens)} · ${count.model} · `,
      h('code', {}, count.tokenizer),
    ),
    sectionBar(count.details),
    sectionTable(count),
    h('h3', {}, t('request.budget')),
    budgetView(count, verdict),
    count.uncounted.length > 0 && uncountedTable(count.uncounted),
    warningLines(count.warnings),
  ];
}

function sectionTable({ details, input_tokens: total }) {
  return table(
    t('request.sections'),
    [[t('request.section')], [t('compare.tokens'), true], [t('request.share'), true]],
    SECTIONS.filter((section) => details[section]).map((section) =>
      row(
        name(
          h('span', { class: `swatch s-${section}` }),
          t(`section.${section}`),
          h('small', {}, t(`section.${section}.about`)),
        ),
        num(number(details[section])),
        num(percent(details[section] / total)),
      ),
    ),
  );
}

function budgetView(count, verdict) {
  const output = verdict.constraints.find((each) => each.constraint === 'max_output_tokens')?.needed ?? 0;
  return [
    windowView(count, verdict, output),
    h('p', { class: `verdict ${verdict.decision}` }, [t(`decision.${verdict.decision}`), ...verdict.reasons].join(' ')),
    verdict.largest_output_tokens !== null &&
      h('p', { class: 'muted' }, t('request.largest', { output: verdict.largest_output_tokens })),
    h(
      'p',
      {},
      `${t(output ? 'request.cost_output' : 'request.cost', { output })}: `,
      h('b', {}, moneyText(verdict.cost?.total ?? null)),
    ),
  ];
}

/** The bar of the window: input, how far it may be off, and the output that is asked for. */
function windowView(count, verdict, output) {
  const window = count.context?.window;
  if (!window) return h('p', { class: 'muted' }, t('request.no_window'));
  const used = count.input_tokens;
  const words = t('request.meter', { used: number(used), window: number(window), share: percent(used / window) });
  const parts = [
    [verdict.fits === false ? 'over' : 'used', used / window],
    ['doubt', (count.error_band.high - used) / window],
    ['output', output / window],
  ];
  return [meter(parts, words), h('p', {}, words, output > 0 && ` ${t('request.meter_output', { output })}`)];
}

function uncountedTable(items) {
  return [
    h('h3', {}, t('uncounted.title')),
    table(
      t('uncounted.title'),
      [[t('uncounted.path')], [t('uncounted.kind')], [t('uncounted.reason')], [t('uncounted.assumed'), true]],
      items.map((item) =>
        row(cell(h('code', {}, item.path)), cell(item.kind), cell(item.reason), num(number(item.assumed_tokens))),
      ),
    ),
  ];
}
