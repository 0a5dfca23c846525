// The catalog: the models and tokenizers that the service knows. They are asked for once.

import { get } from './api.js';

let models = null;
let tokenizers = null;

/** The models that are compared until the reader chooses others. */
export const USUAL_MODELS = ['gpt-5', 'claude-opus-4-8', 'claude-sonnet-4-5', 'gemini-2.5-pro'];

/** All listed models with the prices of today. After a failure the next call asks again. */
export function listModels() {
  models ??= allPages().catch((error) => {
    models = null;
    throw error;
  });
  return models;
}

async function allPages() {
  const found = [];
  let after = '';
  do {
    const page = await get(`v1/models?limit=500&prices=true${after && `&page_token=${encodeURIComponent(after)}`}`);
    found.push(...page.models);
    after = page.next_page_token;
  } while (after);
  return found;
}

/** All tokenizers, by name. */
export function listTokenizers() {
  tokenizers ??= get('v1/tokenizers')
    .then((answer) => answer.tokenizers)
    .catch((error) => {
      tokenizers = null;
      throw error;
    });
  return tokenizers;
}
