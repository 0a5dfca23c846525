// Tab 2: a whole request body: what each part of it costs, whether it fits, and its counts for other models.

import { ApiError, post, wasAborted } from '../api.js';
import { compare, comparisonTable } from '../comparison.js';
import { debounced, h, latest, put } from '../dom.js';
import { createEditor } from '../editor.js';
import { REQUESTS } from '../examples.js';
import { number, t } from '../i18n.js';
import { chosen, createModelPicker, createSelect, modelInput } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { card, titledCard } from '../tables.js';
import { turnTable } from '../turns.js';
import { weightView } from '../weight.js';

const DIALECTS = [
  'openai.chat',
  'openai.responses',
  'openai.completions',
  'openai.embeddings',
  'anthropic.messages',
  'google.generateContent',
];

const pretty = (body) => JSON.stringify(body, null, 2);

const state = { text: pretty(REQUESTS[0].body), model: '', dialect: '' };

export function mount(panel) {
  const result = h('div', {});
  const said = h('p', { class: 'visually-hidden', role: 'status' });
  const turns = h('div', {});
  const table = h('div', {});
  const { element: modelField, input: modelName } = modelInput({
    label: t('request.model'),
    value: state.model,
    placeholder: t('request.model_body'),
    onchange: (name) => {
      state.model = name;
      refresh();
    },
  });
  const dialect = createSelect({
    label: t('request.dialect'),
    value: state.dialect,
    options: [['', t('request.dialect_auto')], ...DIALECTS.map((name) => [name, name])],
    onchange: (name) => {
      state.dialect = name;
      refresh();
    },
  });
  const examples = createSelect({
    label: t('example'),
    value: '',
    options: [['', t('example.choose')], ...REQUESTS.map(({ key }) => [key, t(key)])],
    onchange: (key) => {
      if (key) editor.setText(pretty(REQUESTS.find((each) => each.key === key).body));
    },
  });
  const editor = createEditor({
    label: t('request.body'),
    placeholder: t('request.placeholder'),
    text: state.text,
    rows: 20,
    mono: true,
    tools: [examples.element],
    onchange: debounced(refresh, () => 300),
  });
  const picker = createModelPicker({ onchange: () => refresh() });

  const countIt = latest(async (signal, asked) => {
    try {
      const [count, verdict] = await Promise.all([post('v1/countTokens', asked, signal), checkBudget(asked, signal)]);
      put(result, weightView(count, verdict));
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

  put(
    panel,
    h('h2', {}, t('request.title')),
    h('p', { class: 'lead' }, t('request.lead')),
    h(
      'div',
      { class: 'columns' },
      card(t('request.body'), h('div', { class: 'fields' }, modelField, dialect.element), editor.element),
      card(t('request.result'), said, result),
    ),
    titledCard(t('request.turns'), turns),
    titledCard(t('request.others'), picker.element, table),
  );
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

  /** The body for countTokens, or null where the text is no request yet. */
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

/** How many output tokens the body asks for, from the field of its dialect. */
function wantedOutput(request) {
  const found = [
    request.max_completion_tokens,
    request.max_output_tokens,
    request.max_tokens,
    request.generationConfig?.maxOutputTokens,
  ];
  return found.find((value) => Number.isInteger(value) && value >= 0);
}

function checkBudget(asked, signal) {
  const output = wantedOutput(asked.request);
  return post('v1/checkBudget', output === undefined ? asked : { ...asked, max_output_tokens: output }, signal);
}
