// Asks for an API key. The key is kept in memory only, and is lost when the page is left or reloaded.

import { hasKey, setKey } from './api.js';
import { h } from './dom.js';
import { t } from './i18n.js';

let waiting = null;

/** Shows the dialog, once for several calls at the same time. Resolves to whether a key was entered. */
export function askForKey(refused = hasKey()) {
  waiting ??= show(refused).finally(() => {
    waiting = null;
  });
  return waiting;
}

function show(refused) {
  return new Promise((resolve) => {
    const input = h('input', {
      type: 'password',
      id: 'api-key',
      autocomplete: 'off',
      spellcheck: 'false',
      'aria-describedby': 'api-key-about',
    });
    const dialog = h(
      'dialog',
      { class: 'dialog', 'aria-labelledby': 'api-key-title', onclose: closed },
      h(
        'form',
        { method: 'dialog', onsubmit: given },
        h('h2', { id: 'api-key-title' }, t('key.title')),
        refused && h('p', { class: 'problem' }, t('key.refused')),
        h('p', { id: 'api-key-about' }, t('key.about')),
        h('label', { for: 'api-key' }, t('key.label')),
        input,
        h(
          'div',
          { class: 'bar end' },
          h('button', { type: 'button', onclick: () => dialog.close() }, t('key.cancel')),
          hasKey() && h('button', { type: 'button', onclick: forget }, t('key.forget')),
          h('button', { class: 'primary' }, t('key.use')),
        ),
      ),
    );
    let answer = false;

    function given() {
      const key = input.value.trim();
      if (key) setKey(key);
      answer = key !== '';
    }

    function forget() {
      setKey(null);
      dialog.close();
    }

    function closed() {
      dialog.remove();
      resolve(answer);
    }

    document.body.append(dialog);
    dialog.showModal();
  });
}
