// The catalog as a table that can be searched, filtered and sorted, one page at a time.

import { listModels } from './catalog.js';
import { debounced, h, newId, put } from './dom.js';
import { methodBadge } from './format.js';
import { number, t } from './i18n.js';
import { decimal, dollars, times } from './money.js';
import { createSelect } from './pickers.js';
import { problem } from './problem.js';
import { cell, name, num, row, table } from './tables.js';

const PAGE = 20;

const state = { search: '', provider: '', sort: 'id', down: false, page: 0 };

const rateOf = (bucket) => (model) => model.prices?.rates[bucket];

/** The value that a column sorts by. Null is last in both directions. */
const KEYS = {
  id: (model) => model.id,
  provider: (model) => model.provider,
  window: (model) => model.context_window,
  max_output: (model) => model.max_output_tokens,
  input_price: (model) => ordered(rateOf('input')(model)),
  cached_price: (model) => ordered(rateOf('cache_read')(model)),
  output_price: (model) => ordered(rateOf('output')(model)),
};

const ordered = (rate) => (rate ? Number(rate.steps[0].price) / rate.per : null);

const COLUMNS = [
  ['compare.model', 'id'],
  ['cost.provider', 'provider'],
  ['cost.window', 'window', true],
  ['cost.max_output', 'max_output', true],
  ['cost.input_price', 'input_price', true],
  ['cost.cached_price', 'cached_price', true],
  ['cost.output_price', 'output_price', true],
  ['compare.tokenizer'],
  ['compare.method'],
];

/**
 * @param {HTMLElement} element
 * @param {{isChosen: (id: string) => boolean, toggle: (id: string) => void}} options what the boxes of rows do
 * @returns {() => void} draws the table again
 */
export function mountCatalog(element, { isChosen, toggle }) {
  const box = h('div', {});
  const searchId = newId('search');
  const search = h('input', {
    id: searchId,
    type: 'search',
    value: state.search,
    placeholder: t('cost.search_hint'),
    autocomplete: 'off',
    oninput: debounced(
      () => change({ search: search.value }),
      () => 120,
    ),
  });
  const providerSlot = h('div', {});
  let models = null;

  put(
    element,
    h(
      'div',
      { class: 'fields' },
      h('div', { class: 'field search' }, h('label', { for: searchId }, t('cost.search')), search),
      providerSlot,
    ),
    box,
  );
  listModels()
    .then((found) => {
      models = found;
      const providers = [...new Set(found.map((model) => model.provider))].sort();
      put(
        providerSlot,
        createSelect({
          label: t('cost.provider'),
          value: state.provider,
          options: [['', t('cost.any')], ...providers.map((name) => [name, name])],
          onchange: (provider) => change({ provider }),
        }).element,
      );
      draw();
    })
    .catch((error) => put(box, problem(error)));

  function change(what) {
    Object.assign(state, { page: 0 }, what);
    draw();
  }

  function draw() {
    if (models === null) return;
    const found = sorted(models.filter(isFound));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const turn = (by, key) =>
      h(
        'button',
        {
          type: 'button',
          class: 'quiet',
          disabled: state.page + by < 0 || state.page + by >= pages,
          onclick: () => change({ page: state.page + by }),
        },
        t(key),
      );
    put(
      box,
      h('p', { class: 'muted', role: 'status' }, t('cost.found', { found: found.length, all: models.length })),
      table(
        t('cost.catalog'),
        [[t('cost.compare')], ...COLUMNS.map((column) => [header(column)])],
        found.slice(state.page * PAGE, (state.page + 1) * PAGE).map((model) => modelRow(model, isChosen, toggle)),
      ),
      pages > 1 &&
        h(
          'div',
          { class: 'pager' },
          turn(-1, 'page.previous'),
          turn(1, 'page.next'),
          h('span', {}, t('page.of', { page: state.page + 1, pages })),
        ),
    );
  }

  function header([key, sort, isNumber]) {
    const attributes = { scope: 'col', class: isNumber ? 'num' : null };
    if (!sort) return h('th', attributes, t(key));
    const isSorted = state.sort === sort;
    return h(
      'th',
      { ...attributes, 'aria-sort': isSorted ? (state.down ? 'descending' : 'ascending') : null },
      h(
        'button',
        { type: 'button', class: 'sorter', 'data-sort': sort, onclick: () => sortBy(sort) },
        t(key),
        h('span', { 'aria-hidden': 'true' }, isSorted ? (state.down ? ' ↓' : ' ↑') : ''),
      ),
    );
  }

  function sortBy(sort) {
    change({ sort, down: state.sort === sort && !state.down });
    box.querySelector(`[data-sort=${sort}]`).focus();
  }

  return draw;
}

function isFound(model) {
  if (state.provider !== '' && model.provider !== state.provider) return false;
  const text = `${model.id} ${model.provider} ${model.tokenizer}`;
  return state.search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function sorted(models) {
  const key = KEYS[state.sort];
  const way = state.down ? -1 : 1;
  return models.toSorted((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -way : way;
  });
}

function modelRow(model, isChosen, toggle) {
  const tokens = (value) => num(value === null ? t('unknown') : number(value));
  return row(
    cell(
      h('input', {
        type: 'checkbox',
        checked: isChosen(model.id),
        'aria-label': t('cost.compare_one', { name: model.id }),
        onchange: () => toggle(model.id),
      }),
    ),
    name(model.id),
    cell(model.provider),
    tokens(model.context_window),
    tokens(model.max_output_tokens),
    ['input', 'cache_read', 'output'].map((bucket) => num(priceText(rateOf(bucket)(model)))),
    cell(h('code', {}, model.tokenizer)),
    cell(methodBadge(model.methods.text)),
  );
}

/** Dollars for a million tokens, with the higher prices for long inputs. */
function priceText(rate) {
  if (!rate) return t('unknown');
  const perMillion = (price) => dollars(times(decimal(price), 1_000_000 / rate.per));
  return rate.steps.map((step) =>
    step.above_input_tokens
      ? h('small', {}, ` ${t('cost.above', { price: perMillion(step.price), tokens: step.above_input_tokens })}`)
      : perMillion(step.price),
  );
}
