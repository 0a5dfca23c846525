// Inputs that choose models and tokenizers.

import { listModels, listTokenizers, USUAL_MODELS } from './catalog.js';
import { h, newId, put } from './dom.js';
import { t } from './i18n.js';

const LIST = 'known-models';
const MOST = 12;

/** The models that are compared. They are the same on all tabs. */
export const chosen = { models: [...USUAL_MODELS] };

/** The list of names that inputs suggest. There is one in the page, filled once the catalog is there. */
export async function fillModelNames() {
  const list = document.getElementById(LIST) ?? document.body.appendChild(h('datalist', { id: LIST }));
  const models = await listModels();
  put(
    list,
    models.map((model) => h('option', { value: model.id })),
  );
}

/** An input for the name of one model, in any spelling. */
export function modelInput({ label, value = '', placeholder = '', onchange }) {
  const id = newId('model');
  const input = h('input', {
    id,
    list: LIST,
    value,
    placeholder,
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    onchange: () => onchange(input.value.trim()),
  });
  return { input, element: h('div', { class: 'field' }, h('label', { for: id }, label), input) };
}

/**
 * The chosen models as removable chips, and an input that adds one.
 * @param {{onchange: () => void}} options
 */
export function createModelPicker({ onchange }) {
  const list = h('ul', { class: 'chips', 'aria-label': t('picker.chosen') });
  const { input, element: field } = modelInput({
    label: t('picker.add'),
    placeholder: t('picker.name'),
    onchange: () => {},
  });
  const form = h(
    'form',
    { class: 'inline', onsubmit: added },
    field,
    h('button', { class: 'quiet' }, t('picker.add_button')),
  );
  const element = h('div', { class: 'picker' }, list, form);
  draw();

  function draw() {
    put(
      list,
      chosen.models.map((name) =>
        h(
          'li',
          { class: 'chip' },
          name,
          h(
            'button',
            {
              type: 'button',
              'aria-label': t('picker.remove', { name }),
              onclick: () => change(chosen.models.filter((other) => other !== name)),
            },
            '×',
          ),
        ),
      ),
    );
  }

  function added(event) {
    event.preventDefault();
    add(input.value.trim());
    input.value = '';
  }

  function add(name) {
    if (name && !chosen.models.includes(name)) change([...chosen.models, name].slice(-MOST));
  }

  function change(models) {
    chosen.models = models;
    draw();
    onchange();
  }

  /** Replaces a name by the suggestion that the reader chose. */
  function replace(old, name) {
    change([...new Set(chosen.models.map((each) => (each === old ? name : each)))]);
  }

  return { element, replace };
}

/** A select of tokenizers. `usable` decides which are offered. */
export function createTokenizerSelect({ label, value, onchange, usable = () => true }) {
  const id = newId('tokenizer');
  const select = h(
    'select',
    { id, onchange: () => onchange(select.value) },
    h('option', { value, selected: true }, value),
  );
  listTokenizers()
    .then((rows) =>
      put(
        select,
        rows.filter(usable).map((row) => h('option', { value: row.name, selected: row.name === value }, row.name)),
      ),
    )
    .catch(() => {}); // the call that follows says what is wrong
  return { select, element: h('div', { class: 'field' }, h('label', { for: id }, label), select) };
}

/** A select of options [value, text]. */
export function createSelect({ label, value, options, onchange }) {
  const id = newId('select');
  const select = h(
    'select',
    { id, onchange: () => onchange(select.value) },
    options.map(([option, words]) => h('option', { value: option, selected: option === value }, words)),
  );
  return { select, element: h('div', { class: 'field' }, h('label', { for: id }, label), select) };
}

/** Buttons, one of which is pressed. */
export function createChoice({ label, value, options, onchange }) {
  const buttons = options.map(([option, words]) =>
    h('button', { type: 'button', 'aria-pressed': String(option === value), onclick: () => choose(option) }, words),
  );
  function choose(option) {
    buttons.forEach((button, index) => button.setAttribute('aria-pressed', String(options[index][0] === option)));
    onchange(option);
  }
  return { element: h('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons) };
}

/** An input for a whole number, with a label. */
export function numberInput({ label, value, min = 0, max, step = 1, onchange }) {
  const id = newId('number');
  const input = h('input', {
    id,
    type: 'number',
    inputmode: 'numeric',
    min,
    max,
    step,
    value,
    onchange: () => {
      if (input.checkValidity() && input.value !== '') onchange(Number(input.value));
    },
  });
  return { input, element: h('div', { class: 'field' }, h('label', { for: id }, label), input) };
}

/** Examples as buttons. @param {Array<{key: string}>} examples @param {(example: any) => void} ontake */
export function createExamples(examples, ontake) {
  return h(
    'div',
    { class: 'field wide' },
    h('span', { class: 'label' }, t('example')),
    h(
      'div',
      { class: 'chips' },
      examples.map((example) =>
        h('button', { type: 'button', class: 'chip', onclick: () => ontake(example) }, t(example.key)),
      ),
    ),
  );
}
