// Examples for a first look.

/** Texts for the tokens tab. `key` names them in both languages. */
export const TEXTS = [
  {
    key: 'text.mixed',
    text: 'Tokens are not words. 토큰은 단어가 아닙니다.\nstrawberry has 3 r’s; 1234567 is 3 tokens or 7.\n\tif x == 0:  # trailing blanks   \n🙂 👩‍👩‍👧 é (e + \u0301) a\u200bb a\u00a0b',
  },
  {
    key: 'text.korean',
    text: '안녕하세요, 토크나이저입니다. 오늘 부산의 날씨는 맑고, 내일은 흐리겠습니다.\n뷁 쀍 햏 — 드문 글자는 바이트로 나뉩니다.',
  },
  {
    key: 'text.code',
    text: 'def count(text: str) -> int:\n    """How many tokens?"""\n    total = 0\n    for piece in split(text):\n        total += len(merge(piece))\n    return total\n',
  },
  {
    key: 'text.blanks',
    text: `four:${' '.repeat(4)}|sixteen:${' '.repeat(16)}|thirty-six:${' '.repeat(36)}|\n\n\n\ttab\r\nCR LF`,
  },
  {
    key: 'text.numbers',
    text: '1 12 123 1234 12345 123456 1234567\n3.14159265358979 0x7f3a 2026-11-29T21:30:00Z +82-10-1234-5678',
  },
];

const WEATHER = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'City name' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
  },
  required: ['city'],
};

/** Request bodies, one for each way of writing them. */
export const REQUESTS = [
  {
    key: 'request.openai',
    body: {
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'You are a weather assistant. Answer in one sentence.' },
        { role: 'user', content: 'What is the weather in Busan?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Busan"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"temperature": 18, "sky": "clear"}' },
        { role: 'user', content: '그럼 내일은요?' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'get_weather', description: 'Current weather of a city', parameters: WEATHER },
        },
      ],
      max_completion_tokens: 500,
    },
  },
  {
    key: 'request.anthropic',
    body: {
      model: 'claude-sonnet-4-5',
      max_tokens: 1024,
      system: 'You are a weather assistant. Answer in one sentence.',
      tools: [{ name: 'get_weather', description: 'Current weather of a city', input_schema: WEATHER }],
      messages: [
        { role: 'user', content: 'What is the weather in Busan?' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I will look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Busan' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '{"temperature": 18, "sky": "clear"}' }],
        },
      ],
    },
  },
  {
    key: 'request.google',
    body: {
      model: 'gemini-2.5-flash',
      systemInstruction: { parts: [{ text: 'You are a weather assistant. Answer in one sentence.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'What is the weather in Busan?' }] },
        { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Busan' } } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'get_weather', response: { temperature: 18, sky: 'clear' } } }],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'get_weather', description: 'Current weather of a city', parameters: WEATHER },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 500 },
    },
  },
  {
    key: 'request.responses',
    body: {
      model: 'gpt-5',
      instructions: 'Answer in one sentence.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is on this picture?' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' },
          ],
        },
      ],
      max_output_tokens: 500,
    },
  },
];

/** Texts for the tab that shows how a text is cut, with the tokenizer that makes them worth a look. */
export const CUTS = [
  { key: 'cut.hangul', tokenizer: 'o200k_base', text: '안녕하세요 토큰화' },
  { key: 'cut.digits', tokenizer: 'cl100k_base', text: '1234567 3.14159' },
  { key: 'cut.blanks', tokenizer: 'o200k_base', text: 'hello hello  hello    hello' },
  { key: 'cut.strawberry', tokenizer: 'o200k_base', text: 'strawberry Strawberry strawberries' },
  { key: 'cut.merge_list', tokenizer: 'gemma3', text: `x${' '.repeat(36)}y` },
  { key: 'cut.legacy', tokenizer: 'claude', text: 'tokenization 토큰화 ①' },
  { key: 'cut.rare', tokenizer: 'gpt2', text: '토큰' },
];

const repeated = (words, times) => Array.from({ length: times }, () => words).join(' ');

/** Corpora to train on, with the words to encode afterwards. */
export const CORPORA = [
  {
    key: 'train.low',
    merges: 20,
    level: 'byte',
    corpus: `${repeated('low lower lowest newer newest wider widest', 50)} ${repeated('토큰 토큰화 토크나이저 토큰을 토큰이', 30)}`,
    encode: [' lowest', 'lowest', ' 토큰화'],
  },
  { key: 'train.banana', merges: 2, level: 'byte', corpus: 'banana banana banana band band', encode: ['bandana'] },
  {
    key: 'train.words_example',
    merges: 12,
    level: 'character',
    corpus: `${repeated('low', 5)} ${repeated('lower', 2)} ${repeated('newest', 6)} ${repeated('widest', 3)}`,
    encode: ['lowest', 'newer'],
  },
];

/** Ids to decode one by one: characters that span tokens. */
export const STREAMS = [
  { key: 'stream.hangul', tokenizer: 'gpt2', text: '토큰 하나씩' },
  { key: 'stream.emoji', tokenizer: 'cl100k_base', text: 'Hi 👩‍👩‍👧 🙂!' },
  { key: 'stream.plain', tokenizer: 'o200k_base', text: 'Text arrives token by token, never half a character.' },
];
