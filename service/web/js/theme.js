// The theme: light, dark, or that of the system.

import { h } from './dom.js';
import { t } from './i18n.js';

const STORED = 'tallystick.theme';
const THEMES = ['auto', 'light', 'dark'];

let theme = 'auto';
try {
  const found = localStorage.getItem(STORED);
  if (THEMES.includes(found)) theme = found;
} catch {
  /* storage is off */
}
apply();

function apply() {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** A button that switches to the next theme. */
export function themeButton() {
  const button = h('button', { type: 'button', class: 'quiet', onclick: next }, t(`theme.${theme}`));
  function next() {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem(STORED, theme);
    } catch {
      /* storage is off: the choice is lost when the page is left */
    }
    apply();
    button.textContent = t(`theme.${theme}`);
  }
  return button;
}
