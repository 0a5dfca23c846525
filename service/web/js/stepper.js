// Goes through the steps 0..count: buttons, a slider, and a button that plays them where wanted.

import { h, newId, put, s } from './dom.js';
import { t } from './i18n.js';

const ICONS = {
  first: 'M4 3v10M13 3 6.5 8 13 13',
  back: 'M11 3 5 8l6 5',
  forward: 'M5 3l6 5-6 5',
  last: 'M12 3v10M3 3l6.5 5L3 13',
  play: 'M5 3l8 5-8 5z',
  pause: 'M5 3v10M11 3v10',
};

const icon = (name) =>
  s('svg', { class: 'sign', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, s('path', { d: ICONS[name] }));

/**
 * @param {{count: number, at?: number, label: string, onstep: (at: number) => void, pace?: number}} options
 *   `pace`, in milliseconds, adds a button that plays
 * @returns {{element: HTMLElement, go: (at: number) => void}}
 */
export function createStepper({ count, at = 0, label, onstep, pace = 0 }) {
  const id = newId('step');
  let timer = 0;
  const button = (words, sign, target) =>
    h(
      'button',
      {
        type: 'button',
        class: 'icon',
        'aria-label': words,
        title: words,
        onclick: () => {
          stop();
          go(target());
        },
      },
      icon(sign),
    );
  const slider = h('input', {
    type: 'range',
    id,
    min: 0,
    max: count,
    step: 1,
    value: at,
    oninput: () => {
      stop();
      go(Number(slider.value));
    },
  });
  const said = h('output', { for: id });
  const play = pace > 0 && h('button', { type: 'button', class: 'icon', onclick: toggle });
  const buttons = [
    button(t('step.first'), 'first', () => 0),
    button(t('step.back'), 'back', () => at - 1),
    button(t('step.forward'), 'forward', () => at + 1),
    button(t('step.last'), 'last', () => count),
  ];
  const element = h(
    'div',
    { class: 'stepper', role: 'group', 'aria-label': label },
    buttons,
    play,
    h('label', { for: id, class: 'visually-hidden' }, label),
    slider,
    said,
  );
  draw();

  function draw() {
    slider.value = at;
    said.textContent = t('step.of', { at, count });
    // aria-disabled keeps the focus on the button when the first or the last step is reached.
    buttons.forEach((each, index) => each.setAttribute('aria-disabled', String(index < 2 ? at === 0 : at === count)));
    if (play) {
      const words = timer ? t('step.pause') : t('step.play');
      put(play, icon(timer ? 'pause' : 'play'));
      play.setAttribute('aria-label', words);
      play.title = words;
    }
  }

  function go(target) {
    at = Math.max(0, Math.min(count, target));
    draw();
    onstep(at);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
  }

  function toggle() {
    if (timer) {
      stop();
    } else {
      if (at === count) go(0);
      timer = setInterval(() => {
        if (at === count || !element.isConnected) stop();
        else go(at + 1);
        draw();
      }, pace);
    }
    draw();
  }

  return { element, go };
}
