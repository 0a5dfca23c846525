// Tab 4: a BPE learnt from a small corpus, one merge at a time.

import { post, wasAborted } from '../api.js';
import { spelling } from '../chips.js';
import { debounced, h, latest, newId, put } from '../dom.js';
import { CORPORA } from '../examples.js';
import { number, t } from '../i18n.js';
import { finalTokens, mergeView, rowAfter } from '../mergeview.js';
import { createSelect, numberInput } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { createStepper } from '../stepper.js';

const MOST_CORPUS = 50_000;
/** What may be encoded in one call, in texts and in characters. */
const MOST_TEXTS = 60;
const MOST_ENCODED = 2000;
const MOST_WORDS = 24;
const NEWEST = 12;

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
      // Once more with the corpus's own words: how these are encoded is what the steps made of them.
      const words = fitting(answer.corpus.words);
      const looked = await post('v1/bpe/train', { ...body, encode: words.map((word) => word.text) }, signal);
      put(out, answerView(answer, words.map((word, index) => ({ ...word, pretoken: looked.encoded[index].pre_tokens[0] }))));
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
      id: corpusId, rows: 5, class: 'area', maxlength: MOST_CORPUS, spellcheck: 'false', value: state.corpus,
      oninput: () => { state.corpus = corpus.value; later(); },
    });
    const encode = h('textarea', {
      id: encodeId, rows: 3, class: 'area mono', spellcheck: 'false', value: state.encode,
      oninput: () => { state.encode = encode.value; later(); },
    });
    put(panel,
      h('h2', {}, t('train.title')), h('p', { class: 'lead' }, t('train.lead')),
      h('section', { class: 'card', 'aria-label': t('train.corpus') },
        h('div', { class: 'field wide' }, h('span', { class: 'label' }, t('example')),
          h('div', { class: 'chips' }, CORPORA.map((example) => h('button', { type: 'button', class: 'chip', onclick: () => take(example) }, t(example.key))))),
        h('label', { for: corpusId, class: 'label' }, t('train.corpus')), corpus,
        h('div', { class: 'fields' },
          numberInput({ label: t('train.merges'), value: state.merges, min: 1, max: 1000, onchange: (merges) => { state.merges = merges; refresh(); } }).element,
          createSelect({ label: t('train.level'), value: state.level, options: ['byte', 'character'].map((level) => [level, t(`train.level.${level}`)]), onchange: (level) => { state.level = level; refresh(); } }).element,
          createSelect({ label: t('train.ties'), value: state.ties, options: ['first_counted', 'lowest_ids'].map((ties) => [ties, t(`train.ties.${ties}`)]), onchange: (ties) => { state.ties = ties; refresh(); } }).element)),
      out,
      h('section', { class: 'card', 'aria-label': t('train.encode') },
        h('h3', {}, t('train.encode')), h('label', { for: encodeId, class: 'label' }, t('train.encode_label')), encode, encoded));
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

// ---------------------------------------------------------------- the steps

function answerView(answer, words) {
  const { steps, vocabulary, corpus } = answer;
  const base = vocabulary.length - steps.length;
  const said = h('p', { class: 'merge-said', role: 'status' });
  const pairs = h('div', {});
  const wordRows = h('ul', { class: 'words', 'aria-label': t('train.words') });
  const newest = h('ol', { class: 'chiprow', 'aria-label': t('train.newest') });
  const size = h('p', { class: 'facts' });
  const merges = steps.map((step) => h('tr', {},
    h('th', { scope: 'row' }, h('button', { type: 'button', class: 'link', onclick: () => stepper.go(step.step) }, number(step.step))),
    h('td', {}, token(step.left), ' + ', token(step.right)), h('td', {}, h('code', {}, spelling(step))),
    h('td', { class: 'num' }, number(step.count)), h('td', { class: 'num' }, String(step.id)), h('td', { class: 'num' }, number(step.tokens))));
  const stepper = createStepper({ count: steps.length, label: t('train.steps'), onstep: go, pace: 900 });

  const element = h('section', { class: 'card', 'aria-label': t('train.steps') },
    h('h3', {}, t('train.steps')), stepper.element, said, size,
    h('div', { class: 'columns' },
      h('div', {}, h('h4', {}, t('train.pairs')), pairs),
      h('div', {}, h('h4', {}, t('train.words')), wordRows)),
    h('h4', {}, t('train.newest')), newest,
    h('div', { class: 'scroller short', tabIndex: 0, role: 'group', 'aria-label': t('train.merge_list') }, h('table', {},
      h('caption', {}, t('train.merge_list')),
      h('thead', {}, h('tr', {}, [t('merge.step'), t('merge.pair'), t('merge.result'), t('train.count'), t('token.id'), t('train.tokens')]
        .map((name, index) => h('th', { scope: 'col', class: index > 2 ? 'num' : null }, name)))),
      h('tbody', {}, merges))));
  stepper.go(0);
  return element;

  function token(id) {
    return h('code', {}, spelling(vocabulary[id]));
  }

  /** Before the merge that comes next: its pairs; and what the merges so far have made of the corpus. */
  function go(at) {
    const next = steps[at];
    const tokens = at === 0 ? corpus.tokens : steps[at - 1].tokens;
    said.textContent = sentence(at);
    put(size, t('train.size', { vocabulary: base + at, tokens, pretokens: corpus.pre_tokens, distinct: corpus.distinct }));
    put(pairs, next ? pairTable(next, vocabulary) : hint(t(`train.stopped.${answer.stopped}`)));
    put(wordRows, words.map(({ pretoken, count }) => h('li', {},
      rowAfter(pretoken, pretoken.nodes.slice(pretoken.leaves).filter((node) => node.rank < at).length)
        .map((node, place) => h('span', { class: `tok c${place % 6}` }, spelling(node))), h('small', {}, `×${number(count)}`))));
    put(newest, vocabulary.slice(base, base + at).slice(-NEWEST).map((entry, place) => h('li', {},
      h('span', { class: `tok c${place % 6}${entry.text === null ? ' chipped' : ''}` }, spelling(entry)), h('small', {}, String(entry.id)))));
    merges.forEach((row, index) => {
      row.classList.toggle('later', index >= at);
      row.classList.toggle('now', index === at - 1);
    });
  }

  function sentence(at) {
    if (at === 0) return t('train.start', { base });
    const step = steps[at - 1];
    const words_ = t('train.made', {
      left: spelling(vocabulary[step.left]), right: spelling(vocabulary[step.right]), result: spelling(step), count: step.count, id: String(step.id),
    });
    return step.tied ? `${words_} ${t(`train.tied.${answer.ties}`)}` : words_;
  }
}

function pairTable(step, vocabulary) {
  return h('table', { class: 'pairs' },
    h('caption', { class: 'visually-hidden' }, t('train.pairs')),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('merge.pair')), h('th', { scope: 'col', class: 'num' }, t('train.count')))),
    h('tbody', {}, step.pairs.map((pair, index) => h('tr', { class: index === 0 ? 'now' : null },
      h('th', { scope: 'row' }, h('code', {}, spelling(vocabulary[pair.left])), ' + ', h('code', {}, spelling(vocabulary[pair.right])), index === 0 && h('small', {}, t('train.chosen'))),
      h('td', { class: 'num' }, number(pair.count), h('span', { class: 'under', css: { '--size': `${(pair.count / step.pairs[0].count) * 100}%` } }))))));
}

/** The first distinct words of the corpus, as many as may be encoded in one call. */
function fitting(words) {
  let left = MOST_ENCODED;
  return words.slice(0, MOST_WORDS).filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
}

// ---------------------------------------------------------------- a new word

function encodedView({ text, ids, pre_tokens: pretokens }) {
  return h('details', { class: 'encoded' },
    h('summary', {}, h('code', {}, spelling({ text, bytes_hex: null })), ' → ', h('b', { class: 'id' }, ids.map((id) => (id === null ? '?' : String(id))).join(' '))),
    pretokens.map((pretoken) => [
      pretokens.length > 1 && h('h4', {}, spelling(pretoken)), mergeView(pretoken, { rankName: t('merge.place') }), finalTokens(pretoken),
    ]));
}
