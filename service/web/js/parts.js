// A long text in parts that a text area can bear: browsers lay the whole of it out at every key.

/** Characters (UTF-16) in a part. A part may grow to twice that before it is cut again. */
export const PART = 8192;

/** The text in parts of at most `PART`, cut behind a line where there is one near, else behind a blank. */
export function cutInParts(text) {
  const parts = [];
  let from = 0;
  while (text.length - from > PART) {
    const to = from + cutAt(text.slice(from, from + PART + 1));
    parts.push(text.slice(from, to));
    from = to;
  }
  parts.push(text.slice(from));
  return parts;
}

function cutAt(window) {
  const earliest = PART / 2;
  for (const mark of ['\n', ' ']) {
    const at = window.lastIndexOf(mark, PART - 1);
    if (at >= earliest) return at + 1;
  }
  // Never inside a surrogate pair.
  return /[\ud800-\udbff]/.test(window[PART - 1]) ? PART - 1 : PART;
}

/** A text area holds line feeds alone: whether the part is one whose lines all end in CR LF. */
export const endsInCrLf = (part) => part.includes('\r\n') && !/(^|[^\r])\n/.test(part);

/** What a text area makes of a part. */
export const inArea = (part) => part.replace(/\r\n?/g, '\n');

/** The part that a text area's value stands for. */
export const fromArea = (value, crlf) => (crlf ? value.replaceAll('\n', '\r\n') : value);

/** A place in a part as a place in the text area, which has one character for CR LF. */
export const placeInArea = (part, place) => inArea(part.slice(0, place)).length;
