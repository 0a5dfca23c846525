// A training, step by step: the pairs, the merged pair, and the corpus and vocabulary after the merge.

import { spelling } from './chips.js';
import { h, put } from './dom.js';
import { number, t } from './i18n.js';
import { rowAfter } from './mergeview.js';
import { hint } from './problem.js';
import { createStepper } from './stepper.js';
import { cell, name, num, row, table, titledCard, underline } from './tables.js';

const NEWEST = 12;

/**
 * @param {object} answer of /v1/bpe/train
 * @param {Array<{text: string, count: number, pretoken: object}>} words of the corpus, encoded with all merges
 */
export function trainingView(answer, words) {
  const { steps, vocabulary, corpus } = answer;
  const base = vocabulary.length - steps.length;
  const said = h('p', { class: 'merge-said', role: 'status' });
  const pairs = h('div', {});
  const wordRows = h('ul', { class: 'words', 'aria-label': t('train.words') });
  const newest = h('ol', { class: 'chiprow', 'aria-label': t('train.newest') });
  const size = h('p', { class: 'facts' });
  const merges = steps.map((step) =>
    row(
      name(h('button', { type: 'button', class: 'link', onclick: () => stepper.go(step.step) }, number(step.step))),
      cell(token(step.left), ' + ', token(step.right)),
      cell(h('code', {}, spelling(step))),
      num(number(step.count)),
      num(String(step.id)),
      num(number(step.tokens)),
    ),
  );
  const stepper = createStepper({ count: steps.length, label: t('train.steps'), onstep: go, pace: 900 });

  const element = titledCard(
    t('train.steps'),
    stepper.element,
    said,
    size,
    h(
      'div',
      { class: 'columns' },
      h('div', {}, h('h4', {}, t('train.pairs')), pairs),
      h('div', {}, h('h4', {}, t('train.words')), wordRows),
    ),
    h('h4', {}, t('train.newest')),
    newest,
    table(
      t('train.merge_list'),
      [
        [t('merge.step')],
        [t('merge.pair')],
        [t('merge.result')],
        [t('train.count'), true],
        [t('token.id'), true],
        [t('train.tokens'), true],
      ],
      merges,
      { caption: true, short: true },
    ),
  );
  stepper.go(0);
  return element;

  function token(id) {
    return h('code', {}, spelling(vocabulary[id]));
  }

  /** The pairs before the next merge, and the corpus after the merges so far. */
  function go(at) {
    const next = steps[at];
    const tokens = at === 0 ? corpus.tokens : steps[at - 1].tokens;
    said.textContent = sentence(at);
    put(
      size,
      t('train.size', { vocabulary: base + at, tokens, pretokens: corpus.pre_tokens, distinct: corpus.distinct }),
    );
    put(pairs, next ? pairTable(next, vocabulary) : hint(t(`train.stopped.${answer.stopped}`)));
    put(
      wordRows,
      words.map(({ pretoken, count }) =>
        h(
          'li',
          {},
          rowAfter(pretoken, pretoken.nodes.slice(pretoken.leaves).filter((node) => node.rank < at).length).map(
            (node, place) => h('span', { class: `tok c${place % 6}` }, spelling(node)),
          ),
          h('small', {}, `×${number(count)}`),
        ),
      ),
    );
    put(
      newest,
      vocabulary
        .slice(base, base + at)
        .slice(-NEWEST)
        .map((entry, place) =>
          h(
            'li',
            {},
            h('span', { class: `tok c${place % 6}${entry.text === null ? ' chipped' : ''}` }, spelling(entry)),
            h('small', {}, String(entry.id)),
          ),
        ),
    );
    merges.forEach((row, index) => {
      row.classList.toggle('later', index >= at);
      row.classList.toggle('now', index === at - 1);
    });
  }

  function sentence(at) {
    if (at === 0) return t('train.start', { base });
    const step = steps[at - 1];
    const words_ = t('train.made', {
      left: spelling(vocabulary[step.left]),
      right: spelling(vocabulary[step.right]),
      result: spelling(step),
      count: step.count,
      id: String(step.id),
    });
    return step.tied ? `${words_} ${t(`train.tied.${answer.ties}`)}` : words_;
  }
}

function pairTable(step, vocabulary) {
  const most = step.pairs[0].count;
  return table(
    t('train.pairs'),
    [[t('merge.pair')], [t('train.count'), true]],
    step.pairs.map((pair, index) =>
      h(
        'tr',
        { class: index === 0 ? 'now' : null },
        name(
          h('code', {}, spelling(vocabulary[pair.left])),
          ' + ',
          h('code', {}, spelling(vocabulary[pair.right])),
          index === 0 && h('small', {}, t('train.chosen')),
        ),
        num(number(pair.count), underline(pair.count / most)),
      ),
    ),
  );
}
