// Tab 7: what was counted, what it cost, and the difference between counts and bills. All from the ledger.

import { get, isAbsent, wasAborted } from '../api.js';
import { h, latest, put } from '../dom.js';
import { methodBadge, moneyText } from '../format.js';
import { number, percent, t } from '../i18n.js';
import { createChoice } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { cell, name, num, row, table, titledCard, underline } from '../tables.js';

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const SPANS = [1, 7, 30, 90];

const state = { days: 7, measure: 'input_tokens' };

export function mount(panel) {
  const out = h('div', {});
  const load = latest(async (signal) => {
    try {
      const range = rangeOf(state.days);
      const ask = (group) => get(`v1/usage?${new URLSearchParams({ ...range, group_by: group })}`, signal);
      const [days, models, projects, drift] = await Promise.all([
        ask('day'),
        ask('model'),
        ask('project'),
        get(`v1/usage/drift?${new URLSearchParams(range)}`, signal),
      ]);
      put(out, view(days, models, projects, drift));
    } catch (error) {
      if (!wasAborted(error)) put(out, isAbsent(error) ? hint(t('dashboard.absent')) : problem(error));
    }
  });

  put(
    panel,
    h('h2', {}, t('dashboard.title')),
    h('p', { class: 'lead' }, t('dashboard.lead')),
    h(
      'div',
      { class: 'fields' },
      createChoice({
        label: t('dashboard.span'),
        value: state.days,
        options: SPANS.map((days) => [days, days === 1 ? t('dashboard.today') : t('dashboard.days', { days })]),
        onchange: (days) => {
          state.days = days;
          load();
        },
      }).element,
      createChoice({
        label: t('dashboard.measure'),
        value: state.measure,
        options: ['input_tokens', 'cost_usd', 'calls'].map((name) => [name, t(`usage.${name}`)]),
        onchange: (measure) => {
          state.measure = measure;
          load();
        },
      }).element,
      h('button', { type: 'button', class: 'quiet', onclick: () => load() }, t('dashboard.refresh')),
    ),
    out,
  );
  load();
}

/** The last `days` days in the time zone of the reader, with today. */
function rangeOf(days) {
  return { from: localDate(days - 1), time_zone: ZONE };
}

/** The date `ago` days before today, as ISO 8601. */
function localDate(ago) {
  const today = new Date();
  const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - ago);
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}`;
}

function view(days, models, projects, drift) {
  const { total } = days;
  const notes = [
    days.kept_in === 'memory' && t('dashboard.memory'),
    !days.complete && (days.note ?? t('dashboard.incomplete')),
    total.unpriced_calls > 0 && t('dashboard.unpriced', { calls: total.unpriced_calls }),
  ]
    .filter(Boolean)
    .map((words) => h('p', { class: 'note' }, words));
  if (total.calls === 0 && total.billed_calls === 0)
    return [h('section', { class: 'card' }, hint(t('dashboard.nothing'))), notes];
  const figure = (name, words) =>
    h('div', { class: 'figure' }, h('strong', {}, words), h('span', {}, t(`usage.${name}`)));
  return [
    h(
      'section',
      { class: 'figures', 'aria-label': t('dashboard.total') },
      figure('calls', number(total.calls)),
      figure('input_tokens', number(total.input_tokens)),
      figure('cost_usd', moneyText(total.cost_usd)),
      figure('billed_calls', number(total.billed_calls)),
      figure('billed_cost_usd', total.billed_calls ? moneyText(total.billed_cost_usd) : '–'),
    ),
    titledCard(
      t('dashboard.by_day'),
      dayChart(days.rows),
      h(
        'details',
        {},
        h('summary', {}, t('dashboard.as_table')),
        usageTable(days.rows, t('dashboard.by_day'), t('usage.day'), (sums) => sums.start.slice(0, 10)),
      ),
    ),
    h(
      'div',
      { class: 'columns' },
      titledCard(
        t('dashboard.by_model'),
        usageTable(bySize(models.rows), t('dashboard.by_model'), t('compare.model'), (sums) => sums.model),
      ),
      titledCard(
        t('dashboard.by_project'),
        usageTable(bySize(projects.rows), t('dashboard.by_project'), t('usage.project'), (sums) => sums.project),
      ),
    ),
    titledCard(t('dashboard.drift'), driftTable(drift.families)),
    notes,
  ];
}

const size = (sums) => Number(sums[state.measure] ?? 0);

const bySize = (rows) => rows.toSorted((a, b) => size(b) - size(a));

const shown = (sums) => (state.measure === 'cost_usd' ? moneyText(sums.cost_usd) : number(size(sums)));

function dayChart(rows) {
  const byDay = new Map(rows.map((sums) => [sums.start.slice(0, 10), sums]));
  const days = Array.from({ length: state.days }, (_, index) => localDate(state.days - 1 - index));
  const most = Math.max(...rows.map(size), 0) || 1;
  return h(
    'div',
    {
      class: 'daychart',
      role: 'img',
      'aria-label': t('dashboard.chart', { measure: t(`usage.${state.measure}`), days: state.days }),
    },
    days.map((day) => {
      const sums = byDay.get(day);
      const words = `${day}: ${sums ? shown(sums) : number(0)}`;
      return h(
        'div',
        { class: 'day', title: words },
        h('span', { class: 'column', css: { '--size': `${sums ? (size(sums) / most) * 100 : 0}%` } }),
        h('small', {}, day.slice(5)),
      );
    }),
  );
}

function usageTable(rows, label, heading, nameOf) {
  const most = Math.max(...rows.map(size), 0) || 1;
  const columns = ['calls', 'input_tokens', 'cost_usd', 'billed_cost_usd'].map((key) => [t(`usage.${key}`), true]);
  return table(
    label,
    [[heading], ...columns],
    rows.map((sums) =>
      row(
        name(nameOf(sums) ?? t('dashboard.none')),
        num(number(sums.calls)),
        num(number(sums.input_tokens), underline(size(sums) / most)),
        num(
          moneyText(sums.cost_usd),
          sums.unpriced_calls > 0 && h('abbr', { title: t('dashboard.unpriced', { calls: sums.unpriced_calls }) }, '*'),
        ),
        num(sums.billed_calls ? moneyText(sums.billed_cost_usd) : '–'),
      ),
    ),
    { sticky: true },
  );
}

function driftTable(families) {
  if (families.length === 0) return hint(t('dashboard.no_drift'));
  const columns = ['family', 'method', 'calls', 'counted', 'billed', 'off', 'exact', 'within'];
  return [
    h('p', { class: 'muted' }, t('dashboard.drift_about')),
    table(
      t('dashboard.drift'),
      columns.map((key, index) => [t(`drift.${key}`), index > 1]),
      families.map((drift) =>
        row(
          name(drift.family),
          cell(methodBadge(drift.method)),
          num(number(drift.calls)),
          num(number(drift.counted_tokens)),
          num(number(drift.billed_tokens)),
          num(number(drift.counted_tokens - drift.billed_tokens, { signDisplay: 'exceptZero' })),
          num(percent(drift.exact / drift.calls)),
          num(percent((drift.exact + drift.within_1_percent) / drift.calls)),
        ),
      ),
    ),
  ];
}
