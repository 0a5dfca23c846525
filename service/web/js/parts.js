// Splits a long text into parts that are small enough for a text area: browsers lay out its whole text at every key.

/** Characters (UTF-16) in a part. A part may grow to twice that before it is cut again. */
export const PART = 8192;

/** The text in parts of at most `PART`, cut behind a line end that is near, else behind a blank. */
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
  // Do not cut inside a surrogate pair.
  return /[\ud800-\udbff]/.test(window[PART - 1]) ? PART - 1 : PART;
}

/** Whether all lines of a part end in CR LF. A text area holds line feeds only. */
export const endsInCrLf = (part) => part.includes('\r\n') && !/(^|[^\r])\n/.test(part);

/** A part as the value of a text area. */
export const inArea = (part) => part.replace(/\r\n?/g, '\n');

/** The part for the value of a text area. */
export const fromArea = (value, crlf) => (crlf ? value.replaceAll('\n', '\r\n') : value);

/** A place in a part as a place in the text area, which has one character for CR LF. */
export const placeInArea = (part, place) => inArea(part.slice(0, place)).length;
