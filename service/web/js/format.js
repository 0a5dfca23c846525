// Formats answers of the API for readers.

import { h } from './dom.js';
import { number, t } from './i18n.js';
import { decimal, dollars, times } from './money.js';

/** A badge with exact, calibrated or estimate. Its title explains the word. */
export function methodBadge(method) {
  return h('span', { class: `badge ${method}`, title: t(`method.${method}.about`) }, t(`method.${method}`));
}

/** @param {{low: number, high: number}} band @param {number} count tokens */
export function bandText(band, count) {
  if (band.low === band.high) return '±0';
  const off = [band.low - count, band.high - count]
    .filter((tokens) => tokens !== 0)
    .map((tokens) =>
      signed(count ? tokens / count : tokens, count ? { style: 'percent', maximumFractionDigits: 1 } : {}),
    );
  return `${number(band.low)}–${number(band.high)} (${off.join(' / ')})`;
}

const signed = (value, options) => number(value, { ...options, signDisplay: 'always' });

/** An amount (decimal string or null) times a whole number. An unknown amount stays unknown and is never 0. */
export function moneyText(amount, factor = 1) {
  return amount === null || amount === undefined ? t('unknown') : dollars(times(decimal(amount), factor));
}

/** Unicode code points in a text. */
export function codePoints(text) {
  let count = text.length;
  for (let i = 1; i < text.length; i += 1) {
    const low = text.charCodeAt(i);
    if (low >= 0xdc00 && low <= 0xdfff) {
      const high = text.charCodeAt(i - 1);
      if (high >= 0xd800 && high <= 0xdbff) count -= 1;
    }
  }
  return count;
}

/** A text for each code of `warnings`, one line each. */
export function warningLines(warnings) {
  return warnings.length === 0
    ? null
    : h(
        'ul',
        { class: 'notes' },
        warnings.map(({ code, path }) => h('li', {}, h('code', {}, code), ` ${path}`)),
      );
}
