// Tab 4: training a BPE on a small corpus, one merge at a time.

import { post, wasAborted } from '../api.js';
import { spelling } from '../chips.js';
import { debounced, h, latest, newId, put } from '../dom.js';
import { CORPORA } from '../examples.js';
import { t } from '../i18n.js';
import { finalTokens, mergeView } from '../mergeview.js';
import { createExamples, createSelect, numberInput } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { card, titledCard } from '../tables.js';
import { trainingView } from '../training.js';

const MOST_CORPUS = 50_000;
/** The most texts and characters that one call may encode. */
const MOST_TEXTS = 60;
const MOST_ENCODED = 2000;
const MOST_WORDS = 24;

const state = { ...CORPORA[0], encode: CORPORA[0].encode.join('\n'), ties: 'first_counted' };

export function mount(panel) {
  const out = h('div', {});
  const encoded = h('div', {});
  const later = debounced(refresh, () => 350);

  const train = latest(async (signal) => {
    try {
      const body = { corpus: state.corpus, merges: state.merges, level: state.level, ties: state.ties, top: 10 };
      const texts = state.encode.split('\n').filter(Boolean).slice(0, MOST_TEXTS);
      const answer = await post('v1/bpe/train', { ...body, encode: texts }, signal);
      // A second call with the words of the corpus: it shows how the steps encode them.
      const words = fitting(answer.corpus.words);
      const looked = await post('v1/bpe/train', { ...body, encode: words.map((word) => word.text) }, signal);
      put(
        out,
        trainingView(
          answer,
          words.map((word, index) => ({ ...word, pretoken: looked.encoded[index].pre_tokens[0] })),
        ),
      );
      put(encoded, answer.encoded.map(encodedView));
    } catch (error) {
      if (wasAborted(error)) return;
      put(out, problem(error));
      put(encoded);
    }
  });

  draw();

  function draw() {
    const corpusId = newId('corpus');
    const encodeId = newId('encode');
    const corpus = h('textarea', {
      id: corpusId,
      rows: 5,
      class: 'area',
      maxlength: MOST_CORPUS,
      spellcheck: 'false',
      value: state.corpus,
      oninput: () => {
        state.corpus = corpus.value;
        later();
      },
    });
    const encode = h('textarea', {
      id: encodeId,
      rows: 3,
      class: 'area mono',
      spellcheck: 'false',
      value: state.encode,
      oninput: () => {
        state.encode = encode.value;
        later();
      },
    });
    put(
      panel,
      h('h2', {}, t('train.title')),
      h('p', { class: 'lead' }, t('train.lead')),
      card(
        t('train.corpus'),
        createExamples(CORPORA, take),
        h('label', { for: corpusId, class: 'label' }, t('train.corpus')),
        corpus,
        h(
          'div',
          { class: 'fields' },
          numberInput({
            label: t('train.merges'),
            value: state.merges,
            min: 1,
            max: 1000,
            onchange: (merges) => {
              state.merges = merges;
              refresh();
            },
          }).element,
          createSelect({
            label: t('train.level'),
            value: state.level,
            options: ['byte', 'character'].map((level) => [level, t(`train.level.${level}`)]),
            onchange: (level) => {
              state.level = level;
              refresh();
            },
          }).element,
          createSelect({
            label: t('train.ties'),
            value: state.ties,
            options: ['first_counted', 'lowest_ids'].map((ties) => [ties, t(`train.ties.${ties}`)]),
            onchange: (ties) => {
              state.ties = ties;
              refresh();
            },
          }).element,
        ),
      ),
      out,
      titledCard(
        t('train.encode'),
        h('label', { for: encodeId, class: 'label' }, t('train.encode_label')),
        encode,
        encoded,
      ),
    );
    refresh();
  }

  function take(example) {
    Object.assign(state, example, { encode: example.encode.join('\n') });
    draw();
  }

  function refresh() {
    if (state.corpus.trim() === '') {
      put(out, hint(t('train.empty')));
      put(encoded);
    } else {
      train();
    }
  }
}

/** The first distinct words of the corpus, as many as one call may encode. */
function fitting(words) {
  let left = MOST_ENCODED;
  return words.slice(0, MOST_WORDS).filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}

// ---------------------------------------------------------------- a new word

function encodedView({ text, ids, pre_tokens: pretokens }) {
  return h(
    'details',
    { class: 'encoded' },
    h(
      'summary',
      {},
      h('code', {}, spelling({ text, bytes_hex: null })),
      ' → ',
      h('b', { class: 'id' }, ids.map((id) => (id === null ? '?' : String(id))).join(' ')),
    ),
    pretokens.map((pretoken) => [
      pretokens.length > 1 && h('h4', {}, spelling(pretoken)),
      mergeView(pretoken, { rankName: t('merge.place') }),
      finalTokens(pretoken),
    ]),
  );
}
