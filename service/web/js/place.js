// The place in the page, in its address: a tab and, where they can be shared, its numbers. Never a text.

/** @returns {{tab: string, params: URLSearchParams}} */
export function currentPlace() {
  const [tab, query = ''] = decodeURI(location.hash.slice(1)).split('?');
  return { tab, params: new URLSearchParams(query) };
}

/** Writes the place into the address of the page, without a new entry in the history. */
export function setPlace(tab, params = null) {
  history.replaceState(null, '', `#${tab}${params === null ? '' : `?${params}`}`);
}
