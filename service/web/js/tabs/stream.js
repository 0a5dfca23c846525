// Tab 6: decodes ids one by one. Bytes of a character that is not complete are held back.

import { ApiError, post, wasAborted } from '../api.js';
import { spelling } from '../chips.js';
import { h, latest, newId, pause, put } from '../dom.js';
import { STREAMS } from '../examples.js';
import { t } from '../i18n.js';
import { createExamples, createTokenizerSelect } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { createStepper } from '../stepper.js';
import { card, cell, name, num, row, table, titledCard } from '../tables.js';
import { spaced, visible } from '../visible.js';

const MOST = 2000;

/** Milliseconds without a key after which the typed text is sent. */
const WAIT = 200;

const state = { tokenizer: STREAMS[0].tokenizer, text: STREAMS[0].text, ids: '' };

export function mount(panel) {
  const textId = newId('text');
  const idsId = newId('ids');
  const text = h('input', {
    id: textId,
    type: 'text',
    value: state.text,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => {
      state.text = text.value;
      decode(true, WAIT);
    },
  });
  const ids = h('textarea', {
    id: idsId,
    rows: 3,
    class: 'area mono',
    spellcheck: 'false',
    value: state.ids,
    oninput: () => {
      state.ids = ids.value;
      decode(false, WAIT);
    },
  });
  const out = h('div', {});
  const tokenizer = createTokenizerSelect({
    label: t('cut.tokenizer'),
    value: state.tokenizer,
    usable: (row) => !row.name.startsWith('claude-v'),
    onchange: (name) => {
      state.tokenizer = name;
      decode(true);
    },
  });
  const takeIds = async (signal) => {
    const answer = await post('v1/tokenize', { tokenizer: state.tokenizer, text: state.text, limit: MOST }, signal);
    state.ids = answer.tokens.map((token) => token.id).join(' ');
    ids.value = state.ids;
  };

  /** One timer for both inputs, and the first key aborts a call: typed ids must not be replaced by those of an earlier text. */
  const decode = latest(async (signal, ofText, wait = 0) => {
    try {
      await pause(wait, signal);
      if (ofText) await takeIds(signal);
      const given = state.ids.split(/[\s,[\]]+/).filter(Boolean);
      if (given.length === 0) {
        put(out, hint(t('stream.empty')));
        return;
      }
      if (!given.every((each) => /^\d{1,9}$/.test(each)))
        throw new ApiError(0, { code: 'not_ids', message: '', field: null });
      const answer = await post(
        'v1/detokenize',
        { tokenizer: state.tokenizer, ids: given.slice(0, MOST).map(Number), pieces: true },
        signal,
      );
      put(out, streamView(answer));
    } catch (error) {
      if (!wasAborted(error)) put(out, problem(error));
    }
  });

  put(
    panel,
    h('h2', {}, t('stream.title')),
    h('p', { class: 'lead' }, t('stream.lead')),
    card(
      t('stream.ids'),
      h(
        'div',
        { class: 'fields' },
        tokenizer.element,
        h('div', { class: 'field wide' }, h('label', { for: textId }, t('stream.text')), text),
        createExamples(STREAMS, take),
      ),
      h('label', { for: idsId, class: 'label' }, t('stream.ids')),
      ids,
    ),
    out,
  );
  decode(state.ids === '');

  function take(example) {
    state.tokenizer = example.tokenizer;
    state.text = example.text;
    tokenizer.select.value = example.tokenizer;
    text.value = example.text;
    decode(true);
  }
}

function streamView({ pieces, text, rest, valid }) {
  const shown = h('span', { class: 'emitted' });
  const held = h('span', { class: 'held' });
  const heldWords = h('p', { class: 'merge-said', role: 'status' });
  const items = pieces.map((piece, index) =>
    h(
      'li',
      {},
      h('span', { class: `tok c${index % 6}${piece.text === null ? ' chipped' : ''}` }, spelling(piece)),
      h('small', {}, String(piece.id)),
    ),
  );
  const rows = pieces.map((piece, index) =>
    row(
      name(String(index + 1)),
      num(String(piece.id)),
      cell(h('code', {}, spelling(piece))),
      cell(piece.emit === '' ? h('span', { class: 'muted' }, t('stream.nothing')) : h('code', {}, visible(piece.emit))),
      cell(piece.held_hex ? h('code', { class: 'heldcell' }, spaced(piece.held_hex)) : ''),
    ),
  );
  const stepper = createStepper({ count: pieces.length, label: t('stream.steps'), onstep: go, pace: 450 });
  const element = titledCard(
    t('stream.output'),
    stepper.element,
    h('div', { class: 'screen' }, shown, held),
    heldWords,
    h('ol', { class: 'chiprow', 'aria-label': t('stream.ids') }, items),
    !valid && h('p', { class: 'note' }, t('stream.invalid')),
    table(
      t('stream.table'),
      [['#'], [t('token.id'), true], [t('token.text')], [t('stream.emits')], [t('stream.holds')]],
      rows,
      { caption: true },
    ),
  );
  stepper.go(pieces.length);

  function go(at) {
    const ended = at === pieces.length;
    shown.textContent = ended
      ? text
      : pieces
          .slice(0, at)
          .map((piece) => piece.emit)
          .join('');
    const bytes = at === 0 || ended ? '' : pieces[at - 1].held_hex;
    put(
      held,
      bytes &&
        spaced(bytes)
          .split(' ')
          .map((byte) => h('span', {}, byte)),
    );
    heldWords.textContent = bytes ? t('stream.waiting', { hex: spaced(bytes) }) : ended && rest ? t('stream.rest') : '';
    [items, rows].forEach((list) =>
      list.forEach((each, index) => {
        each.classList.toggle('later', index >= at);
        each.classList.toggle('now', index === at - 1);
      }),
    );
  }

  return element;
}
