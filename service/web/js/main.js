// The page: head, tabs, language, theme, key. Each tab is built when it is first opened.

import { hasKey, whenUnauthorized } from './api.js';
import { h, put } from './dom.js';
import { chooseLanguage, currentLanguage, t } from './i18n.js';
import { askForKey } from './keydialog.js';
import { fillModelNames } from './pickers.js';
import { currentPlace, setPlace } from './place.js';
import * as cost from './tabs/cost.js';
import * as cut from './tabs/cut.js';
import * as dashboard from './tabs/dashboard.js';
import * as request from './tabs/request.js';
import * as stream from './tabs/stream.js';
import * as tokens from './tabs/tokens.js';
import * as train from './tabs/train.js';
import { themeButton } from './theme.js';

const TABS = { tokens, request, cut, train, cost, stream, dashboard };
const NAMES = Object.keys(TABS);

let open = 'tokens';

/** Builds the whole page, at the start and when the language changes. The state of each tab has what was typed. */
function build() {
  document.documentElement.lang = currentLanguage();
  const tabs = NAMES.map((name) =>
    h(
      'button',
      { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => show(name) },
      t(`tab.${name}`),
    ),
  );
  const panels = NAMES.map((name) =>
    h('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, tabIndex: 0, class: 'panel' }),
  );
  const tablist = h('div', { role: 'tablist', 'aria-label': t('tabs'), class: 'tabs', onkeydown });
  put(tablist, tabs);
  const main = h('main', { id: 'main', tabIndex: -1 }, panels);
  put(
    document.body,
    h('a', { class: 'skip', href: '#main', onclick: skip }, t('skip')),
    h(
      'header',
      {},
      h(
        'div',
        { class: 'head' },
        h(
          'h1',
          {},
          h('span', { class: 'mark', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'), h('i'), h('i')),
          'Tallystick',
        ),
        h('p', { class: 'motto' }, t('motto')),
        h('span', { class: 'spring' }),
        h(
          'div',
          { class: 'bar' },
          h('button', { type: 'button', class: 'quiet', onclick: () => askForKey(false) }, t('key.button')),
          themeButton(),
          h(
            'button',
            { type: 'button', class: 'quiet', lang: currentLanguage() === 'ko' ? 'en' : 'ko', onclick: turnLanguage },
            currentLanguage() === 'ko' ? 'English' : '한국어',
          ),
        ),
      ),
      tablist,
    ),
    main,
    h(
      'footer',
      { class: 'foot' },
      h('p', {}, t('foot')),
      h('p', {}, h('a', { href: 'docs' }, t('foot.docs')), ' ', h('a', { href: 'openapi.json' }, 'OpenAPI')),
    ),
  );
  const mounted = new Set();
  fillModelNames().catch(() => {}); // names are only offered; the calls that need the service say what is wrong

  function show(name) {
    open = name;
    tabs.forEach((tab, index) => {
      const chosen = NAMES[index] === name;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      panels[index].hidden = !chosen;
    });
    if (!mounted.has(name)) {
      mounted.add(name);
      TABS[name].mount(panels[NAMES.indexOf(name)]);
    }
    centerTab(tabs[NAMES.indexOf(name)]);
    if (currentPlace().tab !== name) setPlace(name);
    document.title = `${t(`tab.${name}`)} – Tallystick`;
  }

  /** Scrolls the row of tabs, on a narrow screen, and nothing else: scrollIntoView would also move where Tab starts. */
  function centerTab(tab) {
    const [row, chosen] = [tablist.getBoundingClientRect(), tab.getBoundingClientRect()];
    tablist.scrollLeft += chosen.left + chosen.width / 2 - (row.left + row.width / 2);
  }

  function onkeydown(event) {
    const moves = {
      ArrowRight: 1,
      ArrowLeft: -1,
      Home: -NAMES.indexOf(open),
      End: NAMES.length - 1 - NAMES.indexOf(open),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const target = (NAMES.indexOf(open) + moves[event.key] + NAMES.length) % NAMES.length;
    show(NAMES[target]);
    tabs[target].focus();
  }

  function skip(event) {
    event.preventDefault();
    main.focus();
  }

  openPlace = () => {
    const place = currentPlace();
    TABS[place.tab]?.readPlace?.(place);
    if (place.tab in TABS && mounted.has(place.tab) && place.params.size) mounted.delete(place.tab);
    show(place.tab in TABS ? place.tab : open);
  };
  openPlace();
}

let openPlace = () => {};

function turnLanguage() {
  chooseLanguage(currentLanguage() === 'ko' ? 'en' : 'ko');
  build();
  document.querySelector('.head button[lang]').focus();
}

window.addEventListener('hashchange', () => openPlace());
whenUnauthorized(() => askForKey(hasKey()));
build();
