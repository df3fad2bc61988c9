import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseDeepJson, findObjectEnd, parseRow, splitResults, type ObjectSpan } from '../../src/core/deep-json.ts';

const bounds = { jsonDepthMax: 6, jsonValuesMax: 1000 };

/** The page as it is put together from its rows, each read for itself. */
function readSplit(bytes: Buffer): unknown {
  const rows: unknown[] = [];
  const span: ObjectSpan = { to: 0, values: 0, isPlain: true };
  const rest = splitResults(bytes, bounds, (_bytes, from) => {
    if (!findObjectEnd(bytes, from, bounds, span)) return undefined;
    rows.push(parseRow(bytes, from, span.to, span.isPlain, bounds.jsonDepthMax));
    return span.to;
  });
  return rest && { ...rest, results: rows };
}

const readWhole = (bytes: Buffer): unknown => parseDeepJson(bytes.toString('utf8'), bounds.jsonDepthMax);

it.each([
  ['a list without rows', '{"results":[]}'],
  ['white space everywhere', ' { "next" : null , "results"\t:\r\n[ {"a" : [ ] } , { } ] } '],
  ['texts that look like JSON', '{"results":[{"a":"}],\\"]{"},{"\\\\":"\\\\"}],"next":"}]"}'],
  [
    'numbers that a double does not hold',
    '{"results":[{"a":12345678901234567890},{"a":1e999},{"a":-0.1234567890123456}]}',
  ],
  ['a row that is too deep', '{"results":[{"a":[[[1]]]},{"a":[[[[1]]]]},{"a":{"b":{"c":{}}}}]}'],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"results":[{"a":"\u00e9'), Buffer.from([0xe2, 0x82]), Buffer.from('"}]}')]),
  ],
])('reads row by row what is read whole: %s', (_name, text) => {
  const bytes = Buffer.from(text as Buffer);
  expect(readSplit(bytes)).toEqual(readWhole(bytes));
});

it.each([
  ['a list that comes twice', '{"results":[{"a":1}],"results":[{"a":2}]}'],
  ['a list that comes twice, once with an escape', '{"results":[{"a":1}],"\\u0072esults":[]}'],
  ['a list that lies deeper', '{"about":{"results":[{"a":1}]},"results":[]}'],
  ['a list that lies in a list', '[{"results":[{"a":1}]}]'],
  ['a list behind a byte order mark', '\uFEFF{"results":[{"a":1}]}'],
  ['rows that are no objects', '{"results":[{"a":1},null]}'],
  ['no list', '{"results":{"a":1}}'],
  ['a name that ends like it', '{"a\\"results":[{"a":1}],"results":[]}'],
  ['a comma too many', '{"results":[{"a":1},]}'],
  ['a comma too few', '{"results":[{"a":1} {"a":2}]}'],
  ['an end that does not come', '{"results":[{"a":1}'],
  ['nothing', ''],
])('leaves the page to the reader of whole answers: %s', (_name, text) => {
  let read: unknown;
  try {
    read = readSplit(Buffer.from(text));
  } catch {
    return;
  }
  expect(read).toBeUndefined();
});

it('never reads rows otherwise than the whole, whatever byte is changed', () => {
  const page = fc.record({
    results: fc.array(fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 5 }), { maxKeys: 3 }), {
      maxLength: 4,
    }),
    next: fc.option(fc.string({ maxLength: 9 })),
  });
  fc.assert(
    fc.property(
      page,
      fc.nat({ max: 2 }),
      fc.nat(),
      fc.constantFrom(-1, ...Buffer.from('"{}[],:\\ 0e-')),
      (body, indent, place, byte) => {
        const bytes = Buffer.from(JSON.stringify(body, null, indent));
        if (byte >= 0) bytes[place % bytes.length] = byte;
        let whole: unknown;
        let split: unknown;
        try {
          whole = readWhole(bytes);
        } catch {
          whole = 'not JSON';
        }
        try {
          split = readSplit(bytes);
        } catch {
          split = undefined;
        }
        if (byte < 0) expect(split).toEqual(whole);
        else if (split !== undefined) expect(split).toEqual(whole);
      },
    ),
    { numRuns: 2000 },
  );
});
