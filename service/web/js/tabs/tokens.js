// Tab 1: a text, its tokens in colours, and its counts for several models.

import { post, wasAborted } from '../api.js';
import { compare, comparisonTable } from '../comparison.js';
import { debounced, h, latest, put } from '../dom.js';
import { createEditor } from '../editor.js';
import { TEXTS } from '../examples.js';
import { codePoints } from '../format.js';
import { number, t } from '../i18n.js';
import { chosen, createChoice, createModelPicker, createSelect } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { card, titledCard } from '../tables.js';
import { createTokenView } from '../tokenview.js';

/** Characters of a text whose tokens the service shows. It counts longer texts. */
const MOST_SHOWN = 1_048_576;

const state = { text: TEXTS[0].text, shown: chosen.models[0], mode: 'text' };

export function mount(panel) {
  const view = createTokenView({ label: t('tokens.view'), onselect: (start, end) => editor.select(start, end) });
  const facts = h('p', { class: 'facts', role: 'status' });
  const notes = h('div', {});
  const table = h('div', {});
  const picker = createModelPicker({
    onchange: () => {
      drawShown();
      refresh();
    },
  });
  const shownSlot = h('div', {});
  const modeChoice = createChoice({
    label: t('tokens.mode'),
    value: state.mode,
    options: [
      ['text', t('tokens.mode_text')],
      ['ids', t('tokens.mode_ids')],
    ],
    onchange: (mode) => {
      state.mode = mode;
      showTokens();
    },
  });
  const examples = createSelect({
    label: t('example'),
    value: '',
    options: [['', t('example.choose')], ...TEXTS.map(({ key }) => [key, t(key)])],
    onchange: (key) => {
      if (key) editor.setText(TEXTS.find((each) => each.key === key).text);
    },
  });
  const editor = createEditor({
    label: t('tokens.text'),
    placeholder: t('tokens.placeholder'),
    text: state.text,
    rows: 12,
    tools: [examples.element],
    onchange: changed,
  });
  /** Milliseconds to wait for the next key. They are more for a long text, whose answer takes time to read. */
  const later = debounced(refresh, () => 120 + Math.min(600, size / 2000));
  let size = state.text.length;
  let answered = null;

  const countAll = latest(async (signal, text) => {
    try {
      const { rows } = await compare(chosen.models, { text }, signal);
      put(table, comparisonTable(rows, { characters: codePoints(text), onreplace: picker.replace }));
    } catch (error) {
      if (!wasAborted(error)) put(table, problem(error));
    }
  });

  const tokenize = latest(async (signal, text) => {
    try {
      const body = { model: state.shown, text, unit: 'utf16', form: 'columns', limit: 1_000_000 };
      answered = asTokens(await post('v1/tokenize', body, signal), text);
      showTokens();
      put(notes, answered.notes);
    } catch (error) {
      if (wasAborted(error)) return;
      answered = null;
      view.clear();
      put(facts);
      put(
        notes,
        problem(error, (name) => picker.replace(state.shown, name)),
      );
    }
  });

  put(
    panel,
    h('h2', {}, t('tokens.title')),
    h('p', { class: 'lead' }, t('tokens.lead')),
    picker.element,
    h(
      'div',
      { class: 'columns' },
      card(t('tokens.text'), editor.element),
      card(
        t('tokens.view'),
        h('div', { class: 'bar' }, shownSlot, h('span', { class: 'spring' }), modeChoice.element),
        view.element,
        facts,
        notes,
      ),
    ),
    titledCard(t('compare.title'), table),
  );
  drawShown();
  refresh();

  function drawShown() {
    if (!chosen.models.includes(state.shown)) state.shown = chosen.models[0];
    put(
      shownSlot,
      createSelect({
        label: t('tokens.shown'),
        value: state.shown,
        options: chosen.models.map((name) => [name, name]),
        onchange: (name) => {
          state.shown = name;
          refresh();
        },
      }).element,
    );
  }

  function changed() {
    view.setStale(true);
    later();
  }

  function refresh() {
    state.text = editor.text();
    size = state.text.length;
    if (state.text === '' || chosen.models.length === 0) {
      answered = null;
      view.clear(t(chosen.models.length ? 'tokens.empty' : 'tokens.no_models'));
      put(facts);
      put(notes);
      put(table, hint(t(chosen.models.length ? 'tokens.empty' : 'tokens.no_models')));
      return;
    }
    countAll(state.text);
    if (codePoints(state.text) > MOST_SHOWN) {
      answered = null;
      view.clear(t('tokens.too_long', { most: MOST_SHOWN }));
      put(notes);
    } else {
      tokenize(state.text);
    }
  }

  function showTokens() {
    if (answered === null) return;
    view.show(answered.tokens, state.mode);
    const { count, bytes, characters } = answered;
    put(facts, h('span', {}, t('tokens.facts', { tokens: count, characters, bytes })));
    modeChoice.element.hidden = answered.tokens.ids === null;
  }
}

/** The columns of /v1/tokenize, ready to be laid out, and their notes. */
function asTokens(answer, text) {
  const { ids, starts, ends, exceptions } = answer.columns;
  const notes = [];
  if (!answer.has_ids) notes.push(t('tokens.no_ids'));
  if (answer.altered) {
    notes.push(`${t('tokens.altered')} ${answer.normaliser.map((code) => t(`normaliser.${code}`)).join(', ')}.`);
  }
  if (answer.next_offset !== null) notes.push(t('tokens.first_only', { shown: number(starts.length) }));
  for (const { code } of answer.warnings) notes.push(code);
  return {
    tokens: {
      text,
      length: starts.length,
      ids,
      starts,
      ends,
      exceptions: new Map(exceptions.map((each) => [each.index, each])),
    },
    count: answer.count,
    bytes: answer.bytes,
    characters: codePoints(text),
    notes: notes.map((note) => h('p', { class: 'note' }, note)),
  };
}
