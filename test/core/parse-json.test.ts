import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from '../../src/core/exact-json.ts';

const name = fc.oneof(
  fc.constantFrom('"', '\\', ':', 'a', 'a"', 'a\\', 'a\\b', 'a\nb', '\\u00e4', 'ä', '__proto__', '1'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('\\', '":', '\\":', '一', 1, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value;
// V8 confuses names in texts that are long and not in Latin-1, in most processes: it depends on the objects that it has seen.
const filler = Array.from({ length: 300 }, (_, n) => `filler ${n} ${'一'.repeat(90)}`);

it('names with escapes stay what they are, which JSON.parse of Node 24 does not always manage', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = JSON.stringify({ value, filler });
      expect(JSON.stringify(parseJson(text))).toBe(text);
    }),
    { numRuns: 1500 },
  );
});

it('white space may stand before the colon of a name', () => {
  const text = String.raw`{"a\n" :["\\" ,":"], "\\":"b\":" , "\""` + '\t\r\n: {"a": 1}}';
  expect(parseJson(text)).toEqual({ 'a\n': ['\\', ':'], '\\': 'b":', '"': { a: 1 } });
  // The same, in a text of the kind that V8 confuses.
  const long = parseJson(`{"filler":${JSON.stringify(filler)},"rows":[${[text, text].join(' , ')}]}`);
  expect(long).toMatchObject({ rows: [parseJson(text), parseJson(text)] });
});

it.each(['{"a\\":1}', '{"\\u00":1}', '{"a\\n":1,"\\u00":1}', '["x\\\\"," :"', '{"a\\q":1}', '\\"":'])(
  '%s is no JSON',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  },
);

it('JSON of any depth is read', () => {
  const deep = `${'{"a\\n":['.repeat(50_000)}1${']}'.repeat(50_000)}`;
  let value = parseJson(deep);
  let depth = 0;
  for (; typeof value === 'object' && value !== null; depth += 1) value = (value as { 'a\n': unknown[] })['a\n'][0];
  expect(depth).toBe(50_000);
});
