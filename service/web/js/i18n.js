// Texts in the language of the reader, and numbers in its format.

import { en } from './strings-en.js';
import { ko } from './strings-ko.js';

const LANGUAGES = { en, ko };
const STORED = 'tallystick.language';

let language = stored() ?? (navigator.language.toLowerCase().startsWith('ko') ? 'ko' : 'en');

function stored() {
  try {
    const found = localStorage.getItem(STORED);
    return found in LANGUAGES ? found : null;
  } catch {
    return null; // storage is off
  }
}

/** @returns {'en'|'ko'} */
export const currentLanguage = () => language;

/** @param {'en'|'ko'} chosen */
export function chooseLanguage(chosen) {
  language = chosen;
  document.documentElement.lang = chosen;
  try {
    localStorage.setItem(STORED, chosen);
  } catch {
    /* storage is off: the choice is lost when the page is left */
  }
}

/**
 * The text for a key. `{name}` in it is replaced by `values.name`, with numbers in the format of the language.
 * @param {string} key
 * @param {Object<string, string|number>} [values]
 */
export function t(key, values = {}) {
  const text = LANGUAGES[language][key];
  if (text === undefined) {
    console.error(`no words for ${key}`);
    return key;
  }
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === 'number' ? number(value) : String(value);
  });
}

/** Whether there is a text for a key. */
export const has = (key) => key in LANGUAGES[language];

/** @param {number} value @param {Intl.NumberFormatOptions} [options] */
export const number = (value, options) => new Intl.NumberFormat(language, options).format(value);

/** A share of 1 as a percentage. */
export function percent(share) {
  const digits = share !== 0 && share < 0.001 ? 3 : share < 0.1 ? 2 : 1;
  return number(share, { style: 'percent', maximumFractionDigits: digits });
}
