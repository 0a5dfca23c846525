// Exact decimal amounts, from the strings of the API. No amount becomes a float.

/**
 * A decimal: `digits` × 10^-`scale`.
 * @typedef {{digits: bigint, scale: number}} Decimal
 */

/** @param {string} text a plain decimal such as "0.0001525" @returns {Decimal} */
export function decimal(text) {
  const [whole, part = ''] = text.split('.');
  return { digits: BigInt(whole + part), scale: part.length };
}

/** @param {Decimal} amount @param {number} factor a whole number @returns {Decimal} */
export const times = (amount, factor) => ({ digits: amount.digits * BigInt(factor), scale: amount.scale });

/** @param {Decimal} one @param {Decimal} other @returns {Decimal} */
export function plus(one, other) {
  const scale = Math.max(one.scale, other.scale);
  const widened = (amount) => amount.digits * 10n ** BigInt(scale - amount.scale);
  return { digits: widened(one) + widened(other), scale };
}

/** @returns {number} negative, 0 or positive */
export function order(one, other) {
  const difference = plus(one, { digits: -other.digits, scale: other.scale }).digits;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * US dollars, rounded half up to cents from a dollar on, else to four significant digits.
 * @param {Decimal} amount
 */
export function dollars(amount) {
  const minus = amount.digits < 0n;
  const size = minus ? -amount.digits : amount.digits;
  const one = 10n ** BigInt(amount.scale);
  const leading = size === 0n || size >= one ? 0 : amount.scale - String(size).length;
  const kept = size === 0n || size >= one ? 2 : Math.max(2, leading + 4);
  const rounded = round(size, amount.scale, kept);
  const text = String(rounded).padStart(kept + 1, '0');
  const whole = text.slice(0, -kept).replace(/\B(?=(\d{3})+$)/g, ',');
  const part = text.slice(-kept).replace(/0+$/, '').padEnd(2, '0');
  return `${minus ? '-' : ''}$${whole}.${part}`;
}

function round(size, scale, kept) {
  if (scale <= kept) return size * 10n ** BigInt(kept - scale);
  const unit = 10n ** BigInt(scale - kept);
  return (size + unit / 2n) / unit;
}
