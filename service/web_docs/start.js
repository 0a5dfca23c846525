// Shows /openapi.json with Swagger UI. Where the service asks for a key, this page asks its reader for one first. The
// key is kept in memory only: leaving or reloading the page forgets it.

// Swagger UI cleans the markup that it makes of descriptions with DOMPurify, but hands it to the page as text. This lets
// such markup in; texts that would become code stay refused.
window.trustedTypes?.createPolicy('default', { createHTML: (markup) => markup });

const ask = document.getElementById('ask');
const input = document.getElementById('key');
const problem = document.getElementById('problem');

/** The folder that the service lies in, without the slash at its end: a proxy may have put it below a prefix. */
const base = new URL('.', document.baseURI).href.replace(/\/$/, '');

async function load(key) {
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  const answer = await fetch('openapi.json', { headers, cache: 'no-store' });
  const body = await answer.json();
  if (answer.ok) return show(body, key);
  problem.textContent = body.error.message;
  ask.hidden = false;
  input.select();
}

function show(spec, key) {
  ask.hidden = true;
  const ui = window.SwaggerUIBundle({
    spec: { ...spec, servers: [{ url: base }] },
    dom_id: '#api',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    onComplete: () => key && ui.preauthorizeApiKey('bearer', key),
  });
}

function start(key) {
  load(key).catch((error) => {
    problem.textContent = `The service cannot be reached: ${error.message}`;
    ask.hidden = false;
  });
}

ask.addEventListener('submit', (event) => {
  event.preventDefault();
  start(input.value.trim());
});

start('');
