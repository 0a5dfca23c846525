// Tab 3: how a text was cut into tokens: pre-tokens, bytes, and the merges in their order.

import { post, wasAborted } from '../api.js';
import { chips, spelling } from '../chips.js';
import { debounced, h, latest, newId, put } from '../dom.js';
import { CUTS } from '../examples.js';
import { t } from '../i18n.js';
import { finalTokens, mergeView } from '../mergeview.js';
import { createExamples, createTokenizerSelect } from '../pickers.js';
import { hint, problem } from '../problem.js';
import { card, titledCard } from '../tables.js';

const MOST = 2000;

const state = { text: CUTS[0].text, tokenizer: CUTS[0].tokenizer, opened: 0 };

export function mount(panel) {
  const id = newId('cut');
  const area = h('textarea', {
    id,
    rows: 3,
    class: 'area',
    maxlength: MOST,
    spellcheck: 'false',
    value: state.text,
    oninput: changed,
  });
  const tokenizer = createTokenizerSelect({
    label: t('cut.tokenizer'),
    value: state.tokenizer,
    onchange: (name) => {
      state.tokenizer = name;
      refresh();
    },
  });
  const out = h('div', {});
  const later = debounced(refresh, () => 200);

  const explain = latest(async (signal) => {
    try {
      const answer = await post('v1/explain', { tokenizer: state.tokenizer, text: state.text }, signal);
      put(out, answerView(answer));
    } catch (error) {
      if (!wasAborted(error)) put(out, problem(error));
    }
  });

  put(
    panel,
    h('h2', {}, t('cut.title')),
    h('p', { class: 'lead' }, t('cut.lead')),
    card(
      t('cut.input'),
      h('div', { class: 'fields' }, tokenizer.element, createExamples(CUTS, take)),
      h('label', { for: id, class: 'label' }, t('cut.input')),
      area,
    ),
    out,
  );
  refresh();

  function take(example) {
    state.text = example.text;
    state.tokenizer = example.tokenizer;
    state.opened = 0;
    area.value = example.text;
    tokenizer.select.value = example.tokenizer;
    refresh();
  }

  function changed() {
    state.text = area.value;
    state.opened = 0;
    later();
  }

  function refresh() {
    if (state.text === '') put(out, hint(t('cut.empty')));
    else explain();
  }
}

function answerView(answer) {
  const words = [
    titledCard(
      t('cut.how'),
      h('p', {}, t(`algorithm.${answer.algorithm}`)),
      answer.altered &&
        h(
          'p',
          { class: 'note' },
          `${t('tokens.altered')} ${answer.normaliser.map((code) => t(`normaliser.${code}`)).join(', ')}.`,
        ),
      answer.steps_missing && h('p', { class: 'note' }, t(`steps_missing.${answer.steps_missing}`)),
      h('h4', {}, t('cut.result', { count: answer.count })),
      chips(answer.tokens, t('cut.tokens')),
    ),
  ];
  if (answer.pre_tokens !== null && answer.pre_tokens.length > 0) words.push(preTokenSection(answer));
  return words;
}

function preTokenSection(answer) {
  const body = h('div', {});
  const buttons = answer.pre_tokens.map((pretoken, index) =>
    h(
      'button',
      { type: 'button', class: 'pretoken', onclick: () => open(index) },
      spelling(pretoken),
      h('small', {}, pretoken.kind === 'added' ? t('cut.added') : t('cut.pieces', { count: pretoken.tokens.length })),
    ),
  );
  open(Math.min(state.opened, buttons.length - 1));

  function open(index) {
    state.opened = index;
    buttons.forEach((button, each) => button.setAttribute('aria-pressed', String(each === index)));
    put(body, preTokenView(answer.pre_tokens[index], answer.algorithm));
  }

  return titledCard(
    t('cut.pretokens'),
    h('p', { class: 'muted' }, t('cut.pretokens_about')),
    h('div', { class: 'pretokens', role: 'group', 'aria-label': t('cut.pretokens') }, buttons),
    body,
  );
}

function preTokenView(pretoken, algorithm) {
  return [
    pretoken.whole && h('p', { class: 'note' }, t('cut.whole')),
    pretoken.kind === 'added'
      ? h('p', { class: 'note' }, t('cut.added_about'))
      : mergeView(pretoken, { rankName: t(algorithm === 'ranks' ? 'merge.rank' : 'merge.place') }),
    h('h4', {}, t('cut.tokens')),
    finalTokens(pretoken),
    pretoken.other_rule && otherRule(pretoken.other_rule),
  ];
}

function otherRule({ rule, same, tokens }) {
  return [
    h('h4', {}, t('cut.other', { rule: t(`rule.${rule}`) })),
    same
      ? h('p', { class: 'muted' }, t('cut.other_same'))
      : [h('p', {}, t('cut.other_differs')), chips(tokens, t('cut.other', { rule: t(`rule.${rule}`) }))],
  ];
}
