// Tab 5: the catalog as a table, and the cost of a month of calls. The numbers are in the address of the page.

import { post, wasAborted } from '../api.js';
import { USUAL_MODELS } from '../catalog.js';
import { mountCatalog } from '../catalogtable.js';
import { inferredMark } from '../comparison.js';
import { h, latest, newId, put } from '../dom.js';
import { t } from '../i18n.js';
import { decimal, dollars, order, times } from '../money.js';
import { createSelect, modelInput, numberInput } from '../pickers.js';
import { setPlace } from '../place.js';
import { hint, problem } from '../problem.js';
import { name, num, row, table, titledCard, underline } from '../tables.js';

const TIERS = ['standard', 'batch', 'flex', 'priority'];
const MOST_COMPARED = 12;

const state = { models: [...USUAL_MODELS], calls: 100_000, input: 3000, cached: 50, output: 400, tier: 'standard' };

const NUMBERS = { calls: 1_000_000_000, input: 10_000_000, cached: 100, output: 1_000_000 };

/** Takes the numbers from a shared address. A number that is missing or wrong there stays as it is. */
export function readPlace({ params }) {
  for (const [name, most] of Object.entries(NUMBERS)) {
    const value = Number(params.get(name) ?? Number.NaN);
    if (Number.isInteger(value) && value >= 0 && value <= most) state[name] = value;
  }
  if (TIERS.includes(params.get('tier'))) state.tier = params.get('tier');
  const models = (params.get('models') ?? '').split(',').filter(Boolean).slice(0, MOST_COMPARED);
  if (models.length) state.models = models;
}

const placeOf = () =>
  String(
    new URLSearchParams({
      models: state.models.join(','),
      calls: state.calls,
      input: state.input,
      cached: state.cached,
      output: state.output,
      tier: state.tier,
    }),
  ).replaceAll('%2C', ',');

export function mount(panel) {
  const result = h('div', {});
  const chips = h('ul', { class: 'chips', 'aria-label': t('picker.chosen') });
  const linkId = newId('link');
  const link = h('input', { id: linkId, type: 'text', readOnly: true, onfocus: () => link.select() });
  const copied = h('span', { role: 'status', class: 'muted' });
  const catalog = h('div', {});
  const { input: adding, element: addField } = modelInput({
    label: t('picker.add'),
    placeholder: t('picker.name'),
    onchange: () => {},
  });

  const estimate = latest(async (signal) => {
    const cached = Math.round((state.input * state.cached) / 100);
    const usage = { input: state.input - cached, cache_read: cached, output: state.output, requests: 1 };
    const rows = await Promise.all(
      state.models.map(async (model) => {
        try {
          return { model, answer: await post('v1/estimateCost', { model, usage, service_tier: state.tier }, signal) };
        } catch (error) {
          if (wasAborted(error)) throw error;
          return { model, error };
        }
      }),
    ).catch((error) => {
      if (!wasAborted(error)) throw error;
      return null;
    });
    if (rows !== null) put(result, costTable(rows));
  });

  const field = (name, min = 0) =>
    numberInput({
      label: t(`cost.${name}`),
      value: state[name],
      min,
      max: NUMBERS[name],
      onchange: (value) => {
        state[name] = value;
        refresh();
      },
    }).element;

  put(
    panel,
    h('h2', {}, t('cost.title')),
    h('p', { class: 'lead' }, t('cost.lead')),
    titledCard(
      t('cost.calculator'),
      h(
        'div',
        { class: 'fields' },
        field('calls'),
        field('input'),
        field('cached'),
        field('output'),
        createSelect({
          label: t('cost.tier'),
          value: state.tier,
          options: TIERS.map((tier) => [tier, t(`tier.${tier}`)]),
          onchange: (tier) => {
            state.tier = tier;
            refresh();
          },
        }).element,
      ),
      h(
        'div',
        { class: 'picker' },
        chips,
        h(
          'form',
          { class: 'inline', onsubmit: added },
          addField,
          h('button', { class: 'quiet' }, t('picker.add_button')),
        ),
      ),
      result,
      h(
        'div',
        { class: 'share' },
        h('label', { for: linkId }, t('cost.link')),
        link,
        h('button', { type: 'button', class: 'quiet', onclick: copy }, t('cost.copy')),
        copied,
      ),
    ),
    titledCard(t('cost.catalog'), catalog),
  );
  const drawCatalog = mountCatalog(catalog, { isChosen: (id) => state.models.includes(id), toggle });
  drawChips();
  refresh(false);

  function added(event) {
    event.preventDefault();
    const name = adding.value.trim();
    adding.value = '';
    if (name && !state.models.includes(name)) toggle(name);
  }

  function toggle(name) {
    state.models = state.models.includes(name)
      ? state.models.filter((other) => other !== name)
      : [...state.models, name].slice(-MOST_COMPARED);
    drawChips();
    refresh();
    drawCatalog();
  }

  /** Not called at each change of a number: a button that takes the focus from a field must not be replaced. */
  function drawChips() {
    put(
      chips,
      state.models.map((name) =>
        h(
          'li',
          { class: 'chip' },
          name,
          h('button', { type: 'button', 'aria-label': t('picker.remove', { name }), onclick: () => toggle(name) }, '×'),
        ),
      ),
    );
  }

  function refresh(changed = true) {
    if (changed) setPlace('cost', placeOf());
    link.value = `${location.href.split('#')[0]}#cost?${placeOf()}`;
    copied.textContent = '';
    if (state.models.length) estimate();
    else put(result, hint(t('tokens.no_models')));
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(link.value);
      copied.textContent = t('cost.copied');
    } catch {
      // No permission, or no secure context: the field can be copied by hand.
      link.focus();
      link.select();
    }
  }
}

// ---------------------------------------------------------------- the cost of a month

const BUCKETS = ['input', 'cache_read', 'output'];

function costTable(answers) {
  const priced = answers
    .filter(({ answer }) => answer?.total)
    .sort((a, b) => order(decimal(a.answer.total), decimal(b.answer.total)));
  const dearest = Number(priced.at(-1)?.answer.total) || 1;
  const monthly = (amount) => dollars(times(decimal(amount), state.calls));
  const bucket = (answer, wanted) =>
    num(answer.line_items.filter((item) => item.bucket === wanted).map((item) => monthly(item.amount)));
  const wide = (...content) => h('td', { colspan: 2 + BUCKETS.length }, content);
  return table(
    t('cost.month'),
    [
      [t('compare.model')],
      ...['cost.per_month', 'cost.per_call', ...BUCKETS.map((each) => `bucket.${each}`)].map((key) => [t(key), true]),
    ],
    [
      ...priced.map(({ model, answer }) =>
        row(
          name(model, inferredMark(answer.price_status)),
          num(h('b', {}, monthly(answer.total)), underline(Number(answer.total) / dearest)),
          num(dollars(decimal(answer.total))),
          BUCKETS.map((each) => bucket(answer, each)),
        ),
      ),
      ...answers
        .filter(({ answer }) => answer && !answer.total)
        .map(({ model, answer }) => row(name(model), wide(t('unknown'), ' – ', answer.reason))),
      ...answers.filter(({ error }) => error).map(({ model, error }) => row(name(model), wide(problem(error)))),
    ],
    { sticky: true },
  );
}
