// The calls of the README and of docs/, made with a client whose types come from /openapi.json. It is compiled in
// strict mode, and run against a service: `node calls.js ADDRESS`.

import createClient from 'openapi-fetch';

import type { components, paths } from './api.js';

type Schemas = components['schemas'];

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2] ?? 'http://127.0.0.1:8080' });

function same<T>(found: T, expected: T): void {
  if (found !== expected) throw new Error(`${String(found)} is not ${String(expected)}`);
}

/** The answer. Throws what the service refused with. */
function ok<T>(result: { data?: T; error?: unknown }): T {
  if (result.data === undefined) throw new Error(JSON.stringify(result.error));
  return result.data;
}

// A text: fields with a default may be left out.
const text: Schemas['CountAnswer'] = ok(
  await client.POST('/v1/countTokens', { body: { model: 'gpt-4o', text: 'Hello, world! 안녕하세요.' } }),
);
same(text.input_tokens, 7);
same(text.method, 'exact');
same(text.cost?.currency, 'USD');

// A whole request is a free-form object, as the provider takes it.
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello!' },
];
const request = ok(await client.POST('/v1/countTokens', { body: { model: 'gpt-4o', request: { messages } } }));
same(request.input_tokens, 16);
same(request.details.frame, 11);
same(request.class?.rules, 'openai-classic/chat');

// An item of a batch that cannot be counted has its error in its place.
const batch = ok(
  await client.POST('/v1/countTokens:batch', {
    body: { items: [{ model: 'gpt-4o', text: 'hi' }, { model: 'gtp-4o', text: 'hi' }] },
  }),
);
const [first, second] = batch.results;
same(first !== undefined && 'input_tokens' in first ? first.input_tokens : null, 1);
same(second !== undefined && 'error' in second ? second.error.near?.[0] : null, 'gpt-4o');

const cut = ok(
  await client.POST('/v1/truncate', { body: { model: 'gpt-4o', max_tokens: 4, text: 'one two three four five six' } }),
);
same('text' in cut ? cut.text : null, 'one two three four');

const estimate = ok(
  await client.POST('/v1/estimateCost', {
    body: { model: 'gpt-4o', at: '2026-11-15', usage: { prompt_tokens: 11, completion_tokens: 120 } },
  }),
);
same(estimate.total, '0.0012275');

const models = ok(await client.GET('/v1/models', { params: { query: { search: 'gemini-2.5-flash', limit: 1 } } }));
same(models.models[0]?.tokenizer, 'gemma3');

const tokens = ok(await client.POST('/v1/tokenize', { body: { tokenizer: 'o200k_base', text: 'Hello, world!' } }));
same(tokens.tokens?.[0]?.text, 'Hello');

// The providers' own endpoints.
const anthropic = ok(
  await client.POST('/v1/messages/count_tokens', {
    body: {
      model: 'claude-sonnet-4-5',
      system: 'You are a scientist',
      messages: [{ role: 'user', content: 'Hello, Claude' }],
    },
  }),
);
same(anthropic.input_tokens, 14);

const gemini = ok(
  await client.POST('/v1beta/models/{model}:countTokens', {
    params: { path: { model: 'gemini-2.5-flash' } },
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello, world!' }] }] },
  }),
);
same(gemini.totalTokens, 5);

// An error has a type, too.
const { error } = await client.POST('/v1/countTokens', { body: { model: 'no-such-model', text: 'hi' } });
same(error?.error.code, 'unknown_model');

// @ts-expect-error: a field of another type is found before it is sent
const wrong: Schemas['CountBody'] = { texts: ['one', 2] };
void wrong;
