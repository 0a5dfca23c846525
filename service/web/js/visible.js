// Characters that cannot be seen, made visible.

/** The stand-in for a character, and its name. */
const SHOWN = new Map([
  [' ', ['·', 'space']],
  ['\t', ['→', 'tab']],
  ['\n', ['↵', 'line feed']],
  ['\r', ['␍', 'carriage return']],
  ['\u00a0', ['⍽', 'no-break space']],
  ['\u00ad', ['[SHY]', 'soft hyphen']],
  ['\u034f', ['[CGJ]', 'grapheme joiner']],
  ['\u061c', ['[ALM]', 'Arabic letter mark']],
  ['\u1680', ['[OSP]', 'ogham space']],
  ['\u115f', ['[HCF]', 'Hangul choseong filler']],
  ['\u1160', ['[HJF]', 'Hangul jungseong filler']],
  ['\u3164', ['[HF]', 'Hangul filler']],
  ['\uffa0', ['[HHF]', 'halfwidth Hangul filler']],
  ['\u180e', ['[MVS]', 'Mongolian vowel separator']],
  ['\u2000', ['[NQ]', 'en quad']],
  ['\u2001', ['[MQ]', 'em quad']],
  ['\u2002', ['[ENS]', 'en space']],
  ['\u2003', ['[EMS]', 'em space']],
  ['\u2004', ['[3/M]', 'three-per-em space']],
  ['\u2005', ['[4/M]', 'four-per-em space']],
  ['\u2006', ['[6/M]', 'six-per-em space']],
  ['\u2007', ['[FS]', 'figure space']],
  ['\u2008', ['[PS]', 'punctuation space']],
  ['\u2009', ['[THS]', 'thin space']],
  ['\u200a', ['[HS]', 'hair space']],
  ['\u200b', ['[ZWSP]', 'zero-width space']],
  ['\u200c', ['[ZWNJ]', 'zero-width non-joiner']],
  ['\u200d', ['[ZWJ]', 'zero-width joiner']],
  ['\u200e', ['[LRM]', 'left-to-right mark']],
  ['\u200f', ['[RLM]', 'right-to-left mark']],
  ['\u2028', ['[LSEP]', 'line separator']],
  ['\u2029', ['[PSEP]', 'paragraph separator']],
  ['\u202a', ['[LRE]', 'left-to-right embedding']],
  ['\u202b', ['[RLE]', 'right-to-left embedding']],
  ['\u202c', ['[PDF]', 'pop directional formatting']],
  ['\u202d', ['[LRO]', 'left-to-right override']],
  ['\u202e', ['[RLO]', 'right-to-left override']],
  ['\u202f', ['[NNBS]', 'narrow no-break space']],
  ['\u205f', ['[MMS]', 'mathematical space']],
  ['\u2060', ['[WJ]', 'word joiner']],
  ['\u2066', ['[LRI]', 'left-to-right isolate']],
  ['\u2067', ['[RLI]', 'right-to-left isolate']],
  ['\u2068', ['[FSI]', 'first strong isolate']],
  ['\u2069', ['[PDI]', 'pop directional isolate']],
  ['\u3000', ['[IDS]', 'ideographic space']],
  ['\ufe0e', ['[VS15]', 'text variation selector']],
  ['\ufe0f', ['[VS16]', 'emoji variation selector']],
  ['\ufeff', ['[BOM]', 'byte order mark']],
  ['\ufffd', ['\ufffd', 'replacement character']],
  ['\u007f', ['␡', 'delete']],
]);
for (let code = 0; code < 32; code += 1) {
  const char = String.fromCharCode(code);
  if (!SHOWN.has(char))
    SHOWN.set(char, [String.fromCharCode(0x2400 + code), `control ${code.toString(16).padStart(2, '0')}`]);
}

const TAG = /^[\u{e0000}-\u{e0fff}]$/u;
const CONTROL = /^[\u0080-\u009f\u2061-\u2065\u206a-\u206f\ufff9-\ufffb]$/;

/**
 * The stand-in for `char` where it cannot be seen, and null where it can.
 * @param {string} char one code point @returns {string|null}
 */
export function standIn(char) {
  const known = SHOWN.get(char);
  if (known) return known[0];
  return TAG.test(char) || CONTROL.test(char) ? `[${hexOf(char)}]` : null;
}

const hexOf = (char) => char.codePointAt(0).toString(16).toUpperCase();

/** A text for screen readers: letters as they are, other characters by name. */
export function spoken(text) {
  let said = '';
  for (const char of text) {
    const known = SHOWN.get(char);
    said += known ? ` ${known[1]} ` : standIn(char) ? ` U+${hexOf(char)} ` : char;
  }
  return said.trim().replace(/ {2,}/g, ' ');
}

/** The text with a stand-in for each character that cannot be seen. */
export function visible(text) {
  let shown = '';
  for (const char of text) shown += standIn(char) ?? char;
  return shown;
}

/** "ed86" as "ed 86". */
export const spaced = (hex) => hex.replace(/(..)(?=.)/g, '$1 ');

/**
 * Splits bytes into whole characters and, between them, the bytes of broken characters.
 * @param {string} hex @returns {Array<{text: string, hex: boolean}>}
 */
export function segments(hex) {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const found = [];
  const add = (text, isHex) => {
    const last = found.at(-1);
    if (last?.hex === isHex) last.text += isHex ? ` ${text}` : text;
    else found.push({ text, hex: isHex });
  };
  for (let at = 0; at < bytes.length;) {
    const size = sizeOf(bytes[at]);
    const char = size > 0 && at + size <= bytes.length ? decoded(bytes.subarray(at, at + size)) : null;
    if (char === null) add(hex.slice(2 * at, 2 * at + 2), true);
    else add(char, false);
    at += char === null ? 1 : size;
  }
  return found;
}

/** Number of bytes of the character that begins with a byte. 0 where none does. */
const sizeOf = (byte) => (byte < 0x80 ? 1 : byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0);

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** A token in one line: its characters, and in ‹ › the bytes of broken characters. */
export function spelled({ text, bytes_hex: hex }) {
  if (text !== null) return visible(text);
  let known = spellings.get(hex);
  if (known === undefined) {
    const parts = segments(hex);
    known = parts
      .map((part) => (!part.hex ? visible(part.text) : parts.length === 1 ? part.text : `‹${part.text}›`))
      .join('');
    if (spellings.size < 10_000) spellings.set(hex, known);
  }
  return known;
}

/** A cache: a text has few different broken pieces, but may have each of them many times. */
const spellings = new Map();
