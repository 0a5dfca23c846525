// Calls the public API: JSON out, JSON in. The key is kept in a variable here and nowhere else.

let key = null;
let askForKey = async () => false;

/** An error of the service. `near` has the closest known names where a name was unknown. */
export class ApiError extends Error {
  /** @param {number} status @param {{code: string, message: string, field: string|null, near?: string[]}} detail */
  constructor(status, detail, retryAfter = null) {
    super(detail.message);
    this.status = status;
    this.code = detail.code;
    this.field = detail.field ?? null;
    this.near = detail.near ?? [];
    this.retryAfter = retryAfter;
  }
}

/** Sets the function that shows the key dialog. It resolves to whether there is a key now. */
export function whenUnauthorized(ask) {
  askForKey = ask;
}

/** @param {string|null} value null removes it */
export function setKey(value) {
  key = value;
}

export const hasKey = () => key !== null;

/** @param {string} path below the page's own address, such as `v1/tokenize` */
export const get = (path, signal) => call('GET', path, undefined, signal);

export const post = (path, body, signal) => call('POST', path, JSON.stringify(body), signal);

async function call(method, path, body, signal) {
  for (;;) {
    const used = key;
    const answer = await send(method, path, body, signal);
    if (answer.ok) return answer.json();
    const error = await refusal(answer);
    // The reader may have entered the key for another call in the meantime.
    if (answer.status !== 401 || (used === key && !(await askForKey()))) throw error;
  }
}

async function send(method, path, body, signal) {
  const headers = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (key !== null) headers.authorization = `Bearer ${key}`;
  try {
    return await fetch(new URL(path, document.baseURI), { method, body, headers, signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, { code: 'unreachable', message: '', field: null });
  }
}

async function refusal(answer) {
  const after = Number(answer.headers.get('retry-after')) || null;
  try {
    return new ApiError(answer.status, (await answer.json()).error, after);
  } catch {
    return new ApiError(answer.status, { code: `http_${answer.status}`, message: '', field: null }, after);
  }
}

/** Whether a call was aborted because a newer one replaced it. */
export const wasAborted = (error) => error.name === 'AbortError';

/** Whether the service has no such route, because that part of it is not installed or is off. */
export const isAbsent = (error) => error instanceof ApiError && error.status === 404 && error.code === 'not_found';
