// Shows a request turn by turn, and how many tokens each turn adds.

import { post } from './api.js';
import { h } from './dom.js';
import { number, t } from './i18n.js';
import { hint } from './problem.js';
import { cell, name, num, row, table, underline } from './tables.js';

/** The fields in which the dialects have their turns. */
const LISTS = ['messages', 'contents', 'input'];
const MOST_TURNS = 60;
const BEGINNING = 80;

/**
 * A table of the turns of a request. The tokens of a turn are the count of the request up to it, less the count of the
 * request up to the turn before.
 */
export async function turnTable(asked, signal) {
  const list = LISTS.find((each) => Array.isArray(asked.request[each]) && asked.request[each].length > 0);
  if (list === undefined) return hint(t('turns.none'));
  const turns = asked.request[list];
  if (turns.length > MOST_TURNS) return hint(t('turns.too_many', { most: MOST_TURNS }));
  const upTo = (end) => ({ ...asked, request: { ...asked.request, [list]: turns.slice(0, end) } });
  const items = Array.from({ length: turns.length + 1 }, (_, end) => upTo(end));
  const { results } = await post('v1/countTokens:batch', { items }, signal);
  const totals = results.map((each) => each.input_tokens ?? null);
  const added = turns.map((_, index) =>
    totals.slice(index, index + 2).includes(null) ? null : totals[index + 1] - totals[index],
  );
  const most = Math.max(1, ...added);
  const known = (tokens) => (tokens === null ? '–' : number(tokens));
  return [
    h('p', { class: 'muted' }, t('turns.about')),
    table(
      t('request.turns'),
      [[t('turns.turn')], [t('turns.role')], [t('turns.begins')], [t('turns.adds'), true], [t('turns.total'), true]],
      turns.map((turn, index) =>
        row(
          name(h('code', {}, `${list}[${index}]`)),
          cell(turn?.role ?? turn?.type ?? ''),
          h('td', { class: 'begin' }, beginning(turn)),
          num(known(added[index]), underline((added[index] ?? 0) / most)),
          num(known(totals[index + 1])),
        ),
      ),
    ),
  ];
}

function beginning(turn) {
  const content = turn?.content ?? turn?.tool_calls ?? turn?.parts ?? turn;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length > BEGINNING ? `${text.slice(0, BEGINNING)}…` : text;
}
