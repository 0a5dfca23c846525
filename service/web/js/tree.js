// Draws the merges of one pre-token as a tree: leaves at the bottom, each merge above the two nodes that it joined.

import { h, s } from './dom.js';
import { spelling } from './chips.js';
import { t } from './i18n.js';

const LEVEL = 46;
const BOX = 26;
const MOST_LEAVES = 160;

/**
 * @param {{leaves: number, nodes: Array<object>}} pretoken as /v1/explain gives it
 * @returns {{element: HTMLElement, go: (merges: number) => void}}
 */
export function createTree(pretoken) {
  const { leaves, nodes } = pretoken;
  if (leaves > MOST_LEAVES) {
    return { element: h('p', { class: 'hint' }, t('tree.too_wide', { leaves, most: MOST_LEAVES })), go() {} };
  }
  const places = placeNodes(pretoken);
  const height = Math.max(...places.map((place) => place.level)) * LEVEL + BOX + 4;
  const width = places.slice(0, leaves).reduce((most, place) => Math.max(most, place.x + place.width / 2), 0) + 4;
  const y = (place) => height - BOX - 2 - place.level * LEVEL;

  const lines = [];
  const boxes = nodes.map((node, index) => {
    const place = places[index];
    if (index >= leaves) {
      for (const child of [node.left, node.right]) {
        const line = s('path', {
          class: 'branch',
          d: branch(place.x, y(place) + BOX, places[child].x, y(places[child])),
          'data-node': index,
        });
        lines.push(line);
      }
    }
    return s(
      'g',
      { class: `node${index < leaves ? ' leaf' : ''}`, 'data-node': index },
      s('rect', { x: place.x - place.width / 2, y: y(place), width: place.width, height: BOX, rx: 6 }),
      s(
        'text',
        { x: place.x, y: y(place) + BOX / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central' },
        spelling(node),
      ),
    );
  });
  const drawing = s(
    'svg',
    { class: 'tree', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': t('tree.label') },
    lines,
    boxes,
  );
  const element = h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('tree.label') }, drawing);

  function go(merges) {
    for (const part of [...lines, ...boxes]) {
      const index = Number(part.getAttribute('data-node'));
      part.classList.toggle('later', index >= leaves + merges);
      part.classList.toggle('now', index >= leaves && index === leaves + merges - 1);
    }
  }
  return { element, go };
}

const branch = (x1, y1, x2, y2) => `M${x1} ${y1}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`;

/** The width of a box for a label. East Asian characters are twice as wide. */
function widthOf(node) {
  const label = spelling(node);
  const wide = (label.match(/[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\ud83c-\ud83e]/g) ?? [])
    .length;
  return Math.max(26, (label.length + wide * 0.75) * 8.5 + 12);
}

/** The centre, width and level of each node. Leaves stand side by side, a merge in the middle of what it joined. */
function placeNodes({ leaves, nodes }) {
  const places = [];
  let x = 4;
  const ordered = nodes
    .slice(0, leaves)
    .map((node, index) => [node.start, index])
    .sort((a, b) => a[0] - b[0]);
  for (const [, index] of ordered) {
    const width = widthOf(nodes[index]);
    places[index] = { x: x + width / 2, width, level: 0 };
    x += width + 6;
  }
  for (let index = leaves; index < nodes.length; index += 1) {
    const left = places[nodes[index].left];
    const right = places[nodes[index].right];
    places[index] = {
      x: (left.x + right.x) / 2,
      level: Math.max(left.level, right.level) + 1,
      width: widthOf(nodes[index]),
    };
  }
  return places;
}
