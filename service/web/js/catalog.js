// The catalog: models and tokenizers that the service knows, asked once.

import { get } from './api.js';

let models = null;
let tokenizers = null;

/** What models are compared before the reader chose others. */
export const USUAL_MODELS = ['gpt-5', 'claude-opus-4-8', 'claude-sonnet-4-5', 'gemini-2.5-pro'];

/** Every listed model with today's prices. A failure is not remembered. */
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

/** Every tokenizer by name. */
export function listTokenizers() {
  tokenizers ??= get('v1/tokenizers')
    .then((answer) => answer.tokenizers)
    .catch((error) => {
      tokenizers = null;
      throw error;
    });
  return tokenizers;
}
