// Tab 2: a whole request body: what each part of it costs, whether it fits, and what other models make of it.

import { ApiError, post, wasAborted } from '../api.js';
import { meter, SECTIONS, sectionBar } from '../bars.js';
import { compare, comparisonTable } from '../comparison.js';
import { debounced, h, latest, put } from '../dom.js';
import { createEditor } from '../editor.js';
import { REQUESTS } from '../examples.js';
import { bandText, methodBadge, moneyText, warningLines } from '../format.js';
import { number, percent, t } from '../i18n.js';
import { chosen, createModelPicker, createSelect, modelInput } from '../pickers.js';
import { hint, problem } from '../problem.js';

const DIALECTS = ['openai.chat', 'openai.responses', 'openai.completions', 'openai.embeddings', 'anthropic.messages', 'google.generateContent'];

/** Where each dialect keeps its turns, and where it says how much it wants back. */
const TURNS = ['messages', 'contents', 'input'];
const MOST_TURNS = 60;

const pretty = (body) => JSON.stringify(body, null, 2);

const state = { text: pretty(REQUESTS[0].body), model: '', dialect: '' };

export function mount(panel) {
  const result = h('div', {});
  const said = h('p', { class: 'visually-hidden', role: 'status' });
  const turns = h('div', {});
  const table = h('div', {});
  const { element: modelField, input: modelName } = modelInput({
    label: t('request.model'), value: state.model, placeholder: t('request.model_body'),
    onchange: (name) => { state.model = name; refresh(); },
  });
  const dialect = createSelect({
    label: t('request.dialect'), value: state.dialect, options: [['', t('request.dialect_auto')], ...DIALECTS.map((name) => [name, name])],
    onchange: (name) => { state.dialect = name; refresh(); },
  });
  const examples = createSelect({
    label: t('example'), value: '', options: [['', t('example.choose')], ...REQUESTS.map(({ key }) => [key, t(key)])],
    onchange: (key) => { if (key) editor.setText(pretty(REQUESTS.find((each) => each.key === key).body)); },
  });
  const editor = createEditor({
    label: t('request.body'), placeholder: t('request.placeholder'), text: state.text, rows: 20, mono: true, tools: [examples.element],
    onchange: debounced(refresh, () => 300),
  });
  const picker = createModelPicker({ onchange: () => refresh() });

  const countIt = latest(async (signal, asked) => {
    try {
      const [count, verdict] = await Promise.all([post('v1/countTokens', asked, signal), checkBudget(asked, signal)]);
      put(result, countView(count, verdict));
      said.textContent = `${number(count.input_tokens)} ${t('request.tokens')}, ${t(`method.${count.method}`)}`;
    } catch (error) {
      if (!wasAborted(error)) put(result, problem(error, takeName));
    }
  });

  const countTurns = latest(async (signal, asked) => {
    try {
      put(turns, await turnTable(asked, signal));
    } catch (error) {
      if (!wasAborted(error)) put(turns, hint(t('turns.failed')));
    }
  });

  const compareIt = latest(async (signal, asked) => {
    if (chosen.models.length === 0) {
      put(table, hint(t('tokens.no_models')));
      return;
    }
    const { model, ...input } = asked;
    try {
      const { rows } = await compare([...new Set([model, ...chosen.models])], input, signal);
      put(table, comparisonTable(rows, { onreplace: picker.replace }));
    } catch (error) {
      if (!wasAborted(error)) put(table, problem(error));
    }
  });

  put(panel,
    h('h2', {}, t('request.title')), h('p', { class: 'lead' }, t('request.lead')),
    h('div', { class: 'columns' },
      h('section', { class: 'card', 'aria-label': t('request.body') },
        h('div', { class: 'fields' }, modelField, dialect.element), editor.element),
      h('section', { class: 'card', 'aria-label': t('request.result') }, said, result)),
    h('section', { class: 'card', 'aria-label': t('request.turns') }, h('h3', {}, t('request.turns')), turns),
    h('section', { class: 'card', 'aria-label': t('request.others') }, h('h3', {}, t('request.others')), picker.element, table));
  refresh();

  function takeName(name) {
    state.model = name;
    modelName.value = name;
    refresh();
  }

  function refresh() {
    state.text = editor.text();
    const asked = readBody();
    if (asked === null) return;
    countIt(asked);
    countTurns(asked);
    compareIt(asked);
  }

  /** Says why there is nothing to count yet. */
  function showNothing(why) {
    put(result, why);
    put(turns, hint(t('request.none')));
    put(table, hint(t('request.none')));
    return null;
  }

  /** What countTokens takes, or null where the text is no request yet. */
  function readBody() {
    if (state.text.trim() === '') return showNothing(hint(t('request.none')));
    let request;
    try {
      request = JSON.parse(state.text);
    } catch (error) {
      return showNothing(problem(new ApiError(0, { code: 'not_json', message: error.message, field: null })));
    }
    const model = state.model || request?.model;
    if (typeof model !== 'string' || model === '') return showNothing(hint(t('request.no_model')));
    return { model, request, ...(state.dialect && { dialect: state.dialect }) };
  }
}

// ---------------------------------------------------------------- the count

/** How many output tokens the body asks for, wherever its dialect says so. */
function wantedOutput(request) {
  const found = [request.max_completion_tokens, request.max_output_tokens, request.max_tokens, request.generationConfig?.maxOutputTokens];
  return found.find((value) => Number.isInteger(value) && value >= 0);
}

async function checkBudget(asked, signal) {
  const output = wantedOutput(asked.request);
  return post('v1/checkBudget', output === undefined ? asked : { ...asked, max_output_tokens: output }, signal);
}

function countView(count, verdict) {
  const sections = SECTIONS.filter((name) => count.details[name]);
  return [
    h('p', { class: 'total' }, h('strong', {}, number(count.input_tokens)), ` ${t('request.tokens')} `, methodBadge(count.method)),
    h('p', { class: 'muted' }, `${t('compare.band')}: ${bandText(count.error_band, count.input_tokens)} · ${count.model} · `, h('code', {}, count.tokenizer)),
    sectionBar(count.details),
    h('table', {},
      h('caption', { class: 'visually-hidden' }, t('request.sections')),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('request.section')), h('th', { scope: 'col', class: 'num' }, t('compare.tokens')), h('th', { scope: 'col', class: 'num' }, t('request.share')))),
      h('tbody', {}, sections.map((name) => h('tr', {},
        h('th', { scope: 'row' }, h('span', { class: `swatch s-${name}` }), t(`section.${name}`), h('small', {}, t(`section.${name}.about`))),
        h('td', { class: 'num' }, number(count.details[name])),
        h('td', { class: 'num' }, percent(count.details[name] / count.input_tokens)))))),
    budgetView(count, verdict),
    count.uncounted.length > 0 && uncountedTable(count.uncounted),
    warningLines(count.warnings),
  ];
}

function budgetView(count, verdict) {
  const cost = verdict.cost?.total ?? count.cost?.input ?? null;
  const output = verdict.constraints.find((each) => each.constraint === 'max_output_tokens')?.needed ?? 0;
  const lines = [t(`decision.${verdict.decision}`), ...verdict.reasons].join(' ');
  const money = h('p', {}, `${t(output ? 'request.cost_output' : 'request.cost', { output })}: `, h('b', {}, moneyText(cost)));
  const window = count.context?.window;
  if (!window) return [h('h3', {}, t('request.budget')), h('p', {}, lines), h('p', { class: 'muted' }, t('request.no_window')), money];
  const share = (tokens) => tokens / window;
  const words = t('request.meter', { used: number(count.input_tokens), window: number(window), share: percent(share(count.input_tokens)) });
  return [
    h('h3', {}, t('request.budget')),
    meter([
      [verdict.fits === false ? 'over' : 'used', share(count.input_tokens)],
      ['doubt', share(count.error_band.high - count.input_tokens)], ['output', share(output)],
    ], words),
    h('p', {}, words, output > 0 && ` ${t('request.meter_output', { output })}`),
    h('p', { class: `verdict ${verdict.decision}` }, lines),
    verdict.largest_output_tokens !== null && h('p', { class: 'muted' }, t('request.largest', { output: verdict.largest_output_tokens })),
    money,
  ];
}

function uncountedTable(rows) {
  return [
    h('h3', {}, t('uncounted.title')),
    h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('uncounted.title') }, h('table', {},
      h('thead', {}, h('tr', {}, ['path', 'kind', 'reason', 'assumed'].map((name) => h('th', { scope: 'col' }, t(`uncounted.${name}`))))),
      h('tbody', {}, rows.map((row) => h('tr', {}, h('td', {}, h('code', {}, row.path)), h('td', {}, row.kind), h('td', {}, row.reason), h('td', { class: 'num' }, number(row.assumed_tokens))))))),
  ];
}

// ---------------------------------------------------------------- turn by turn

/** What each turn adds: the count with it minus the count without it and all behind it. */
async function turnTable(asked, signal) {
  const name = TURNS.find((each) => Array.isArray(asked.request[each]) && asked.request[each].length > 0);
  if (name === undefined) return hint(t('turns.none'));
  const list = asked.request[name];
  if (list.length > MOST_TURNS) return hint(t('turns.too_many', { most: MOST_TURNS }));
  const upTo = (end) => ({ ...asked, request: { ...asked.request, [name]: list.slice(0, end) } });
  const items = Array.from({ length: list.length + 1 }, (_, end) => upTo(end));
  const { results } = await post('v1/countTokens:batch', { items }, signal);
  const totals = results.map((each) => each.input_tokens ?? null);
  const most = Math.max(1, ...totals.slice(1).map((total, index) => (total ?? 0) - (totals[index] ?? 0)));
  return [
    h('p', { class: 'muted' }, t('turns.about')),
    h('div', { class: 'scroller', tabIndex: 0, role: 'group', 'aria-label': t('request.turns') }, h('table', {},
      h('thead', {}, h('tr', {}, ['turn', 'role', 'begins', 'adds', 'total'].map((key, index) => h('th', { scope: 'col', class: index > 2 ? 'num' : null }, t(`turns.${key}`))))),
      h('tbody', {}, list.map((turn, index) => {
        const adds = totals[index] === null || totals[index + 1] === null ? null : totals[index + 1] - totals[index];
        return h('tr', {},
          h('th', { scope: 'row' }, h('code', {}, `${name}[${index}]`)), h('td', {}, turn?.role ?? turn?.type ?? ''),
          h('td', { class: 'begin' }, beginning(turn)),
          h('td', { class: 'num' }, adds === null ? '–' : number(adds), h('span', { class: 'under', css: { '--size': `${Math.max(0, ((adds ?? 0) / most) * 100)}%` } })),
          h('td', { class: 'num' }, totals[index + 1] === null ? '–' : number(totals[index + 1])));
      })))),
  ];
}

function beginning(turn) {
  const content = turn?.content ?? turn?.parts ?? turn?.tool_calls ?? turn;
  const text = typeof content === 'string' ? content : JSON.stringify(turn?.content ?? turn?.tool_calls ?? turn?.parts ?? turn);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
