// Tab 5: the catalog as a table, and what a month of calls costs. The address carries the numbers.

import { post, wasAborted } from '../api.js';
import { listModels, modelDetail, USUAL_MODELS } from '../catalog.js';
import { debounced, h, latest, newId, put } from '../dom.js';
import { methodBadge } from '../format.js';
import { number, t } from '../i18n.js';
import { decimal, dollars, order, times } from '../money.js';
import { createSelect, modelInput, numberInput } from '../pickers.js';
import { currentPlace, setPlace } from '../place.js';
import { hint, problem } from '../problem.js';

const TIERS = ['standard', 'batch', 'flex', 'priority'];
const PAGE = 20;
const MOST_COMPARED = 12;

const state = { models: [...USUAL_MODELS], calls: 100_000, input: 3000, cached: 50, output: 400, tier: 'standard', search: '', provider: '', page: 0 };

const NUMBERS = { calls: 1_000_000_000, input: 10_000_000, cached: 100, output: 1_000_000 };

/** Takes over what a shared address says; what it does not say well is left as it is. */
export function readPlace({ params }) {
  for (const [name, most] of Object.entries(NUMBERS)) {
    const value = Number(params.get(name) ?? Number.NaN);
    if (Number.isInteger(value) && value >= 0 && value <= most) state[name] = value;
  }
  if (TIERS.includes(params.get('tier'))) state.tier = params.get('tier');
  const models = (params.get('models') ?? '').split(',').filter(Boolean).slice(0, MOST_COMPARED);
  if (models.length) state.models = models;
}

const placeOf = () => String(new URLSearchParams({
  models: state.models.join(','), calls: state.calls, input: state.input, cached: state.cached, output: state.output, tier: state.tier,
})).replaceAll('%2C', ',');

export function mount(panel) {
  const result = h('div', { 'aria-live': 'polite' });
  const chips = h('ul', { class: 'chips', 'aria-label': t('picker.chosen') });
  const linkId = newId('link');
  const link = h('input', { id: linkId, type: 'text', readOnly: true, onfocus: () => link.select() });
  const copied = h('span', { role: 'status', class: 'muted' });
  const catalog = h('div', {});
  const { input: adding, element: addField } = modelInput({ label: t('picker.add'), placeholder: t('picker.name'), onchange: () => {} });

  const estimate = latest(async (signal) => {
    const cached = Math.round((state.input * state.cached) / 100);
    const usage = { input: state.input - cached, cache_read: cached, output: state.output, requests: 1 };
    const rows = await Promise.all(state.models.map(async (model) => {
      try {
        return { model, answer: await post('v1/estimateCost', { model, usage, service_tier: state.tier }, signal) };
      } catch (error) {
        if (wasAborted(error)) throw error;
        return { model, error };
      }
    })).catch((error) => { if (!wasAborted(error)) throw error; return null; });
    if (rows !== null) put(result, costTable(rows));
  });

  const field = (name, min = 0) => numberInput({
    label: t(`cost.${name}`), value: state[name], min, max: NUMBERS[name], onchange: (value) => { state[name] = value; refresh(); },
  }).element;

  put(panel,
    h('h2', {}, t('cost.title')), h('p', { class: 'lead' }, t('cost.lead')),
    h('section', { class: 'card', 'aria-label': t('cost.calculator') },
      h('h3', {}, t('cost.calculator')),
      h('div', { class: 'fields' }, field('calls'), field('input'), field('cached'), field('output'), createSelect({
        label: t('cost.tier'), value: state.tier, options: TIERS.map((tier) => [tier, t(`tier.${tier}`)]), onchange: (tier) => { state.tier = tier; refresh(); },
      }).element),
      h('div', { class: 'picker' }, chips, h('form', { class: 'inline', onsubmit: added }, addField, h('button', { class: 'quiet' }, t('picker.add_button')))),
      result,
      h('div', { class: 'share' }, h('label', { for: linkId }, t('cost.link')), link, h('button', { type: 'button', class: 'quiet', onclick: copy }, t('cost.copy')), copied)),
    h('section', { class: 'card', 'aria-label': t('cost.catalog') }, h('h3', {}, t('cost.catalog')), catalog));
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
    state.models = state.models.includes(name) ? state.models.filter((other) => other !== name) : [...state.models, name].slice(-MOST_COMPARED);
    drawChips();
    refresh();
    drawCatalog();
  }

  /** Not at every change of a number: a field that loses the focus to a button here must not replace that button. */
  function drawChips() {
    put(chips, state.models.map((name) => h('li', { class: 'chip' }, name,
      h('button', { type: 'button', 'aria-label': t('picker.remove', { name }), onclick: () => toggle(name) }, '×'))));
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
    } catch { // no permission, or no secure context: the field can be copied by hand
      link.focus();
      link.select();
    }
  }
}

// ---------------------------------------------------------------- a month

function costTable(rows) {
  const priced = rows.filter((row) => row.answer?.total).sort((a, b) => order(decimal(a.answer.total), decimal(b.answer.total)));
  const unpriced = rows.filter((row) => row.answer && row.answer.total === null);
  const failed = rows.filter((row) => row.error);
  const dearest = priced.length ? Number(priced.at(-1).answer.total) : 1;
  const monthly = (amount) => dollars(times(decimal(amount), state.calls));
  const share = (answer, bucket) => answer.line_items.filter((item) => item.bucket === bucket);
  const bucketCell = (answer, bucket) => h('td', { class: 'num' }, share(answer, bucket).map((item) => monthly(item.amount)));
  return h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('cost.month') }, h('table', { class: 'comparison' },
    h('caption', { class: 'visually-hidden' }, t('cost.month')),
    h('thead', {}, h('tr', {}, ['compare.model', 'cost.per_month', 'cost.per_call', 'bucket.input', 'bucket.cache_read', 'bucket.output'].map((key, index) => h('th', { scope: 'col', class: index ? 'num' : null }, t(key))))),
    h('tbody', {},
      priced.map(({ model, answer }) => h('tr', {},
        h('th', { scope: 'row' }, model, answer.price_status === 'inferred' && h('abbr', { title: t('compare.inferred') }, '*')),
        h('td', { class: 'num' }, h('b', {}, monthly(answer.total)), h('span', { class: 'under', css: { '--size': `${dearest ? (Number(answer.total) / dearest) * 100 : 0}%` } })),
        h('td', { class: 'num' }, dollars(decimal(answer.total))), ['input', 'cache_read', 'output'].map((bucket) => bucketCell(answer, bucket)))),
      unpriced.map(({ model, answer }) => h('tr', {}, h('th', { scope: 'row' }, model), h('td', { colspan: 5 }, t('unknown'), ' – ', answer.reason))),
      failed.map(({ model, error }) => h('tr', { class: 'failed' }, h('th', { scope: 'row' }, model), h('td', { colspan: 5 }, problem(error)))))));
}

// ---------------------------------------------------------------- the catalog

function mountCatalog(element, { isChosen, toggle }) {
  const table = h('div', {});
  const searchId = newId('search');
  const search = h('input', { id: searchId, type: 'search', value: state.search, placeholder: t('cost.search_hint'), autocomplete: 'off', oninput: debounced(() => { state.search = search.value; state.page = 0; draw(); }, () => 120) });
  const providerSlot = h('div', {});
  let models = null;

  put(element, h('div', { class: 'fields' }, h('div', { class: 'field search' }, h('label', { for: searchId }, t('cost.search')), search), providerSlot), table);
  listModels().then((found) => {
    models = found;
    const providers = [...new Set(found.map((model) => model.provider))].sort();
    put(providerSlot, createSelect({
      label: t('cost.provider'), value: state.provider, options: [['', t('cost.any')], ...providers.map((name) => [name, name])],
      onchange: (name) => { state.provider = name; state.page = 0; draw(); },
    }).element);
    draw();
  }).catch((error) => put(table, problem(error)));

  function draw() {
    if (models === null) return;
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const found = models.filter((model) => (state.provider === '' || model.provider === state.provider)
      && words.every((word) => `${model.id} ${model.provider} ${model.tokenizer}`.includes(word)));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const shown = found.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const turn = (by, key) => h('button', { type: 'button', class: 'quiet', disabled: state.page + by < 0 || state.page + by >= pages, onclick: () => { state.page += by; draw(); } }, t(key));
    put(table,
      h('p', { class: 'muted', role: 'status' }, t('cost.found', { found: found.length, all: models.length })),
      h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('cost.catalog') }, h('table', {},
        h('caption', { class: 'visually-hidden' }, t('cost.catalog')),
        h('thead', {}, h('tr', {}, ['cost.compare', 'compare.model', 'cost.provider', 'cost.window', 'cost.max_output', 'cost.input_price', 'cost.cached_price', 'cost.output_price', 'compare.tokenizer', 'compare.method'].map((key, index) => h('th', { scope: 'col', class: index > 2 && index < 8 ? 'num' : null }, t(key))))),
        h('tbody', {}, shown.map((model) => modelRow(model, isChosen, toggle))))),
      pages > 1 && h('div', { class: 'pager' }, turn(-1, 'page.previous'), turn(1, 'page.next'), h('span', {}, t('page.of', { page: state.page + 1, pages }))));
  }

  return draw;
}

function modelRow(model, isChosen, toggle) {
  const prices = ['input', 'cache_read', 'output'].map(() => h('td', { class: 'num' }, '…'));
  modelDetail(model.id).then((detail) => ['input', 'cache_read', 'output'].forEach((bucket, index) => put(prices[index], priceText(detail.prices?.rates[bucket]))))
    .catch(() => prices.forEach((cell) => put(cell, t('unknown'))));
  const tokens = (value) => h('td', { class: 'num' }, value === null ? t('unknown') : number(value));
  return h('tr', {},
    h('td', {}, h('input', { type: 'checkbox', checked: isChosen(model.id), 'aria-label': t('cost.compare_one', { name: model.id }), onchange: () => toggle(model.id) })),
    h('th', { scope: 'row' }, model.id), h('td', {}, model.provider), tokens(model.context_window), tokens(model.max_output_tokens), prices,
    h('td', {}, h('code', {}, model.tokenizer)), h('td', {}, methodBadge(model.methods.text)));
}

/** Dollars for a million tokens, with the steps that a long input climbs. */
function priceText(rate) {
  if (!rate) return t('unknown');
  const perMillion = (price) => dollars(times(decimal(price), 1_000_000 / rate.per));
  return rate.steps.map((step) => (step.above_input_tokens ? h('small', {}, ` ${t('cost.above', { price: perMillion(step.price), tokens: step.above_input_tokens })}`) : perMillion(step.price)));
}
