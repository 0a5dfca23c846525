// Tab 7: what was counted and what it cost. Where no ledger is, the page says so.

import { get, isAbsent } from '../api.js';
import { put, h } from '../dom.js';
import { t } from '../i18n.js';
import { hint, problem } from '../problem.js';

export function mount(panel) {
  const out = h('div', {});
  put(panel, h('h2', {}, t('dashboard.title')), h('p', { class: 'lead' }, t('dashboard.lead')), out);
  get('v1/usage').then(() => {}).catch((error) => put(out, isAbsent(error) ? hint(t('dashboard.absent')) : problem(error)));
}
