// Shows how one pre-token became its tokens: the row after each merge, the tree, and the list of merges.

import { chips, spelling, spellingSpoken } from './chips.js';
import { h, put } from './dom.js';
import { number, t } from './i18n.js';
import { createStepper } from './stepper.js';
import { cell, name, num, table } from './tables.js';
import { createTree } from './tree.js';

/** The nodes of the row after a number of merges, in order. */
export function rowAfter({ leaves, nodes }, merges) {
  const joined = new Set(nodes.slice(leaves, leaves + merges).flatMap((node) => [node.left, node.right]));
  return nodes
    .slice(0, leaves + merges)
    .map((node, index) => ({ ...node, index }))
    .filter((node) => !joined.has(node.index))
    .sort((a, b) => a.start - b.start || a.end - b.end);
}

/**
 * @param {object} pretoken as /v1/explain and /v1/bpe/train give it
 * @param {{rankName: string}} words the name of a rank
 */
export function mergeView(pretoken, { rankName }) {
  const { leaves, nodes } = pretoken;
  const merges = nodes.length - leaves;
  const row = h('div', { class: 'mergerow', role: 'list', 'aria-label': t('merge.row') });
  const said = h('p', { class: 'merge-said', role: 'status' });
  const tree = createTree(pretoken);
  const items = nodes
    .slice(leaves)
    .map((node, index) =>
      h(
        'tr',
        { 'data-merge': index + 1 },
        name(h('button', { type: 'button', class: 'link', onclick: () => stepper.go(index + 1) }, number(index + 1))),
        cell(mono(nodes[node.left]), ' + ', mono(nodes[node.right])),
        cell(mono(node)),
        num(node.rank === null ? '' : number(node.rank)),
        num(String(node.id ?? '')),
      ),
    );
  const stepper = createStepper({ count: merges, at: 0, label: t('merge.steps'), onstep: go, pace: 700 });
  const element = h(
    'div',
    { class: 'mergeview' },
    merges > 0 && stepper.element,
    said,
    row,
    tree.element,
    merges > 0 &&
      table(
        t('merge.list'),
        [[t('merge.step')], [t('merge.pair')], [t('merge.result')], [rankName, true], [t('token.id'), true]],
        items,
        { caption: true, short: true },
      ),
  );
  stepper.go(merges);

  function go(at) {
    const now = at > 0 ? leaves + at - 1 : -1;
    const next = at < merges ? [nodes[leaves + at].left, nodes[leaves + at].right] : [];
    put(
      row,
      rowAfter(pretoken, at).map((node, place) =>
        h(
          'span',
          {
            role: 'listitem',
            class: `tok c${place % 6}${node.index === now ? ' made' : ''}${next.includes(node.index) ? ' next' : ''}`,
            'aria-label': spellingSpoken(node),
          },
          spelling(node),
        ),
      ),
    );
    tree.go(at);
    items.forEach((item, index) => {
      item.classList.toggle('later', index >= at);
      item.classList.toggle('now', index === at - 1);
    });
    said.textContent = sentence(at);
  }

  function sentence(at) {
    if (merges === 0) return t(leaves === 1 ? 'merge.single' : 'merge.none');
    if (at === 0) return t('merge.start', { leaves });
    const node = nodes[leaves + at - 1];
    const values = { left: spelling(nodes[node.left]), right: spelling(nodes[node.right]), result: spelling(node) };
    const words =
      node.rank === null
        ? t('merge.made', values)
        : t('merge.made_ranked', { ...values, name: rankName, rank: node.rank });
    return at === merges ? `${words} ${t('merge.end')}` : words;
  }

  return element;
}

const mono = (node) => h('code', {}, spelling(node));

/** The tokens of a pre-token. */
export const finalTokens = (pretoken) =>
  chips(
    pretoken.tokens.map((index) => pretoken.nodes[index]),
    t('cut.tokens'),
  );
