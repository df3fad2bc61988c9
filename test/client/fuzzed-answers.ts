import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { person, recording } from '../contract/documented-rows.ts';

/** An answer as bytes: what stands in its head, its body, where the body is cut into chunks, and how it ends. */
export type RawAnswer = {
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  /** The length of each chunk; the last one is used again until the body ends. */
  chunks: readonly number[];
  end: 'whole' | 'torn' | 'silent';
};

/** Stands in texts and names of every answer. No error may show it. */
export const canary = 'CANARY-7f3a@example.com';

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const deep = '['.repeat(300) + ']'.repeat(300);
const digits = '7'.repeat(1200);
const numbers = ['0', '-0', '1e400', '-1E-400', '9007199254740993', '1e20', '-1.50', digits, `-${digits}e5`];
const texts = ['""', `"${canary}"`, '"\\ud800"', '"\\u0000"', '"\\""', '"\u009b\u202e"', '"😀"', '"[[[["'];
/** No JSON. */
const wrong = ['01', '+1', '1.', '.5', 'NaN', '"\\x"', '"a', "'a'", '[,]', deep.slice(1), '', '//', 'tru'];
const times = ['"2026-01-01T00:00:00Z"', '"2026-01-01"', '"+275760-09-13T00:00:00.000001Z"', '"soon"', '-1'];
const others = ['null', 'true', '[]', '{}', '{"a":1,"a":2}', '{"__proto__":{"a":1}}', '[1e400,{"a":[]}]', deep];
const ids = ['"0190F0A0-0000-7000-8000-00000000000A"', '"0190f0a0-0000-7000-8000-00000000000b"', `"${canary}"`];
const value = pick(...numbers, ...texts, ...times, ...others, ...ids);
const token = fc.oneof({ weight: 60, arbitrary: value }, pick(...wrong));

const names = [
  ...new Set([...Object.keys(person), ...Object.keys(recording), '__proto__', 'constructor', 'toJSON', canary]),
];

/** The JSON text of a row: a documented one, in which fields are replaced, missing, doubled or unknown. */
const rowText = fc
  .tuple(
    pick<object>(person, recording),
    fc.array(fc.tuple(pick(...names), fc.oneof({ weight: 8, arbitrary: token }, fc.json({ maxDepth: 2 }))), {
      maxLength: 4,
    }),
    fc.boolean(),
  )
  .map(([documented, fields, isWhole]) => {
    const whole = isWhole ? JSON.stringify(documented).slice(1, -1) : '';
    const changed = fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`);
    return `{${[...(whole === '' ? [] : [whole]), ...changed].join(',')}}`;
  });

const nextText = pick(
  'null',
  'null',
  '"/?offset=5"',
  '"/?offset=5"',
  '"http://169.254.169.254/?offset=7&limit=0"',
  '"?offset=-1"',
  '"?offset=1e9"',
  '5',
  '"\\u0000"',
);
const hasNext = pick('', ',"has_next":false', ',"has_next":true', ',"has_next":0');
const count = fc.oneof(
  { weight: 6, arbitrary: pick('', ',"count":3') },
  token.map((value) => `,"count":${value}`),
);

/** The JSON text of a page. */
const pageText = fc
  .tuple(fc.array(fc.oneof({ weight: 9, arbitrary: rowText }, token), { maxLength: 6 }), nextText, hasNext, count)
  .map(([rows, next, more, counted]) => `{"results":[${rows.join(',')}],"next":${next}${more}${counted}}`);

/** A text with a piece left out, doubled, or put in at some place. */
const brokenText = fc
  .tuple(fc.oneof(pageText, rowText), fc.nat(), fc.nat({ max: 40 }), pick('out', 'twice', 'in'), token)
  .map(([text, place, length, how, piece]) => {
    const at = place % (text.length + 1);
    const head = text.slice(0, at);
    if (how === 'out') return head + text.slice(at + length);
    return how === 'twice' ? text.slice(0, at + length) + text.slice(at) : head + piece + text.slice(at);
  });

const otherText = fc.oneof(
  fc.json(),
  pick('', '<html>', `{"detail":"${canary} person:write","code":"not_found"}`, '[', 'null', canary),
);

/** A text as large as an answer can be: one piece, over and over. Few, since each takes as long as thousands of others. */
const largeText = fc
  .tuple(
    pick(
      '0,',
      '[',
      '{"a":',
      '"abcdefghijk",',
      '9',
      '1e400,',
      '\\u0000',
      'é',
      '12345678901234567,',
      '{},',
      '"a":1,',
      ' ',
    ),
    fc.integer({ min: 1, max: 9_000_000 }),
    pick(
      ['', ''],
      ['{"results":[', ']}'],
      ['{"results":[{"properties":{"a":', '}}]}'],
      ['{"results":[{"name":"', '"}]}'],
      ['[', '0]'],
    ),
  )
  .map(([piece, length, [before, after]]) => before + piece.repeat(Math.ceil(length / piece.length)) + after);

const jsonText = fc.oneof(
  { weight: 600, arbitrary: pageText },
  { weight: 200, arbitrary: rowText },
  { weight: 150, arbitrary: brokenText },
  { weight: 50, arbitrary: otherText },
);

const utf8 = (text: string): Buffer => Buffer.from(text);
const letters = pick<(text: string) => Buffer>(
  ...Array.from({ length: 12 }, () => utf8),
  (text) => Buffer.from(text, 'latin1'),
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]),
  (text) =>
    Buffer.concat([Buffer.from(text.slice(0, 20)), Buffer.from([0xff, 0xc3, 0x28, 0x80]), Buffer.from(text.slice(20))]),
);

/** How a body is packed, and how that is said. */
const packings: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  '': (body) => body,
  identity: (body) => body,
  gzip: (body) => gzipSync(body, { level: 1 }),
  GZIP: (body) => gzipSync(body, { level: 1 }),
  deflate: (body) => deflateSync(body, { level: 1 }),
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } }),
  Deflate: (body) => deflateSync(body),
  'gzip, gzip': (body) => gzipSync(gzipSync(body)),
  zstd: (body) => body,
};
const packing = fc.oneof({ weight: 2, arbitrary: fc.constant('') }, pick(...Object.keys(packings)));
/** What happens to a packed body on its way. */
const damage = fc.oneof(
  { weight: 9, arbitrary: fc.constant((body: Buffer) => body) },
  pick(
    (body: Buffer) => body.subarray(0, body.length / 2),
    (body: Buffer) => Buffer.concat([body, body]),
    (body: Buffer) => Buffer.from(body.map((byte, index) => (index % 97 === 40 ? byte ^ 1 : byte))),
  ),
);

const contentType = pick(
  'application/json',
  'application/json; charset=utf-8',
  'text/html',
  `text/${canary}`,
  'x\u009by/json',
  '',
  'json',
  'text/csv',
);
const headerValue = pick(
  '0',
  '5',
  '-1',
  '1e9',
  '99999999999999999999',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  canary,
  '@1',
  '?0',
  '',
);
const headerName = pick(
  'retry-after',
  'date',
  'location',
  'deprecation',
  'sunset',
  'x-a',
  'content-type',
  'set-cookie',
);
const statuses = [
  200, 201, 202, 203, 204, 205, 206, 207, 226, 299, 300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 404, 405, 409,
  410, 413,
];
const otherStatuses = [418, 422, 429, 451, 499, 500, 501, 502, 503, 504, 520, 599];
const status = fc.oneof({ weight: 6, arbitrary: fc.constant(200) }, pick(...statuses), pick(...otherStatuses));

/** Any answer of a service: mostly pages with something wrong, of any status, packing, letters and chunks. */
export const rawAnswer = (largeShare: number): fc.Arbitrary<RawAnswer> =>
  fc
    .record({
      status,
      text: fc.oneof({ weight: largeShare, arbitrary: jsonText }, { weight: 1, arbitrary: largeText }),
      letters,
      packing,
      damage,
      type: fc.oneof({ weight: 5, arbitrary: fc.constant('application/json') }, contentType),
      headers: fc.array(fc.tuple(headerName, headerValue), { maxLength: 3 }),
      chunks: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 4 }),
      end: fc.oneof({ weight: 50, arbitrary: fc.constant('whole' as const) }, pick('torn' as const)),
    })
    .map((parts) => {
      const packed = parts.damage((packings[parts.packing] ?? ((body) => body))(parts.letters(parts.text)));
      const named = parts.packing === '' ? [] : ([['content-encoding', parts.packing]] as const);
      const chunks = packed.length > 100_000 ? [65_536] : parts.chunks;
      const headers = [['content-type', parts.type], ...named, ...parts.headers] as const;
      return { status: parts.status, headers, body: packed, chunks, end: parts.end };
    });

/** The chunks in which a body is sent. */
export function* chunksOf({ body, chunks }: RawAnswer): Generator<Buffer> {
  let index = 0;
  for (let at = 0; at < body.length; index += 1) {
    const length = chunks[Math.min(index, chunks.length - 1)] ?? 1;
    yield body.subarray(at, at + length);
    at += length;
  }
}
