import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDeepJson, shallowJson, whyUnkept } from '../../src/core/deep-json.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A value with words in the place of whatever is nested deeper than allowed. */
function cut(value: unknown, depthMax: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depthMax === 0) return 'nested too deeply';
  if (Array.isArray(value)) return value.map((item) => cut(item, depthMax - 1));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cut(child, depthMax - 1)]));
}

function whyNot(write: () => unknown): unknown {
  try {
    return write();
  } catch (error) {
    return error;
  }
}

test('any JSON that is no deeper than allowed is what it is; of any other, all but what is deeper', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      fc.constantFrom(0, 1),
      fc.integer({ min: 1, max: 7 }),
      (given, indent, depthMax) => {
        const text = JSON.stringify(given, null, indent);
        const value: unknown = JSON.parse(text);
        const parsed = parseDeepJson(text, depthMax);
        expect(shallowJson(parsed)).toBe(JSON.stringify(cut(value, depthMax)));
        const written = whyNot(() => JSON.stringify(parsed));
        if (depthOf(value) <= depthMax) expect(written).toBe(JSON.stringify(value));
        else expect(whyUnkept(written)).toBeDefined();
      },
    ),
    { numRuns: 500 },
  );
});

test.for(['"[[[["', '["\\"[[[["]', '["\\\\","]","[["]', '{"{{{{":"}}}}"}'])(
  'brackets in strings are no levels: %s',
  (text) => {
    expect(parseDeepJson(text, 1)).toEqual(parseExactJson(text));
  },
);

test.for(['[[1]', '[[[1]]', '[1', '{"a":[[}', '["[[[', ']]'])('what is no JSON is none here either: %s', (text) => {
  expect(() => parseDeepJson(text, 1)).toThrow(SyntaxError);
});

test('beside what is cut, every digit stays', () => {
  const parsed = parseDeepJson('{"id":9007199254740993,"name":"ann","properties":{"a":{"b":1}},"__proto__":[]}', 2);
  expect(shallowJson(parsed)).toBe(
    '{"id":9007199254740993,"name":"ann","properties":{"a":"nested too deeply"},"__proto__":[]}',
  );
});

test('every number keeps its digits, whatever stands around it', () => {
  const number = fc.oneof(
    fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/),
    fc.constantFrom('9007199254740993', '0.1234567890123456', '1e5', '123456789012345', '-123456789012345', '1E+2'),
  );
  const text = fc.oneof(
    number,
    fc.array(number, { maxLength: 4 }).map((items) => `[ ${items.join(' , ')}\n]`),
    fc
      .tuple(
        fc.string().map((key) => JSON.stringify(key)),
        number,
      )
      .map(([key, each]) => `{${key} :\t${each}}`),
  );
  fc.assert(
    fc.property(text, (json) => {
      expect(JSON.stringify(parseDeepJson(json, 9))).toBe(JSON.stringify(parseExactJson(json)));
    }),
    { numRuns: 2000 },
  );
});

test('a million levels cost no stack', () => {
  const deep = `${'['.repeat(1_000_000)}12345678901234567890${']'.repeat(1_000_000)}`;
  expect(shallowJson(parseDeepJson(`{"a":${deep}}`, 5))).toBe('{"a":[[[["nested too deeply"]]]]}');
});

test.for(['9', '-9', '1.', '0.', '1e'])(
  'of a number that begins with %s, a thousand characters are kept and no more',
  (begin) => {
    const [kept, long] = [1000, 1001].map((length) => begin + '7'.repeat(length - begin.length));
    expect(shallowJson(parseDeepJson(`{"a":[${kept},1],"b":${long},"c":"${long}"}`, 5))).toBe(
      `{"a":[${kept},1],"b":"a number of too many digits","c":"${long}"}`,
    );
  },
);

test('a text of many digits is a text, however many there are', () => {
  const text = JSON.stringify({ a: `x:${'1'.repeat(8_000_000)}` });
  expect(JSON.stringify(parseDeepJson(text, 5))).toBe(text);
});

test('an answer of too many values is refused before it is parsed; strings, and what is cut, are one value', () => {
  const refusal = { code: 'oversize', message: "the service's answer has more than 4 values" };
  expect(parseDeepJson('{"a":[1,2],"b":3}', 5, 4)).toEqual({ a: [1, 2], b: 3 });
  expect(() => parseDeepJson('{"a":[1,2],"b":3,"c":4}', 5, 4)).toThrow(expect.objectContaining(refusal));
  expect(parseDeepJson('{"a":",,,,,,[[[[","b":[3]}', 5, 4)).toEqual({ a: ',,,,,,[[[[', b: [3] });
  expect(shallowJson(parseDeepJson('{"a":[[1,2,3,4,5]]}', 2, 4))).toBe('{"a":["nested too deeply"]}');
});
