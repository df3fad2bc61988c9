import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { Person, Recording } from '../../src/contract/resources.ts';
import { tolerantReader, zodReader } from '../../src/contract/tolerant-reader.ts';
import { person, recording } from './documented-rows.ts';

const lists = [
  { read: tolerantReader(Person, 'uuid'), readWithZod: zodReader(Person, 'uuid'), documented: person },
  { read: tolerantReader(Recording, 'id'), readWithZod: zodReader(Recording, 'id'), documented: recording },
];
const canary = 'CANARY-7f3a';

/** A value that holds the canary where it can, ill-typed for most fields. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.string().map((text) => `${text}${canary}`),
  fc.constant(`${canary}\uD800`),
  fc.constant({ [canary]: canary }),
  fc.constant([canary, 5, [canary]]),
  fc.constantFrom<unknown>(null, true, 1.5, -1, 2 ** 60, [], {}),
  fc.constantFrom('9007199254740993', '99999999999999999999', '1e400', '-0').map((text) => parseExactJson(text)),
  fc.jsonValue(),
);
const list = fc.constantFrom(...lists);
const rowOf = (documented: object) =>
  fc
    .record(Object.fromEntries(Object.keys(documented).map((name) => [name, value])), { requiredKeys: [] })
    .chain((broken) =>
      fc.subarray(Object.keys(broken)).map((kept) => Object.assign({}, documented, pick(broken, kept))),
    );

function pick(row: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

test('a reason never holds a value, and reading never throws', () => {
  fc.assert(
    fc.property(
      list.chain(({ read, documented }) => rowOf(documented).map((row) => ({ read, row }))),
      ({ read, row }) => {
        const result = read(row);
        fc.pre(!result.ok);
        expect(result.reason).not.toContain(canary);
        expect(result.reason).toMatch(/^[ -~]+$/);
      },
    ),
    { numRuns: 1000 },
  );
});

/** A value that is nearly right for some kind of field: what the reader without zod has to leave to zod, or to read alike. */
const nearly = fc.oneof(
  value,
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.constantFrom<unknown>(
    'a\uD800',
    'a\0',
    '',
    undefined,
    null,
    0,
    -0,
    2 ** 53,
    -(2 ** 53) + 1,
    0.1,
    Number.NaN,
    Infinity,
  ),
  fc.constantFrom(
    '2026-01-01T00:00:00Z',
    '2026-01-01 00:00:00.5+02:00',
    '2026-02-30T00:00:00Z',
    '0000-01-01T00:00:00+01:00',
  ),
  fc.constantFrom('0190B7E0-0000-7000-8000-000000000000', '0190b7e0-0000-7000-8000-000000000000\n', 'x'.repeat(1001)),
  fc.array(fc.oneof(fc.string(), fc.constantFrom<unknown>('\uDC00', null, 5)), { maxLength: 3 }),
  fc.constantFrom('12345678901234567890', '9007199254740993').map((text) => ({ deep: parseExactJson(text) })),
);

test('a row is read as zod reads it, whether it is plain or not', () => {
  const rows = ({ read, readWithZod, documented }: (typeof lists)[number]) =>
    fc
      .dictionary(fc.constantFrom(...Object.keys(documented), 'unknown', '__proto__', 'toString'), nearly, {
        maxKeys: 3,
      })
      .map((broken) => ({ read, readWithZod, row: { ...documented, ...broken } }));
  fc.assert(
    fc.property(list.chain(rows), ({ read, readWithZod, row }) => {
      const result = read(row);
      expect(result).toEqual(readWithZod(row));
      if (result.ok)
        expect(Object.keys(result.columns)).toEqual(Object.keys((readWithZod(row) as typeof result).columns));
    }),
    { numRuns: 3000 },
  );
});

test('whatever is not a row is unreadable, and reading never throws', () => {
  fc.assert(
    fc.property(list, fc.anything(), ({ read }, row) => {
      const result = read(row);
      expect(result.ok ? result.columns : result.reason).toBeTruthy();
    }),
    { numRuns: 1000 },
  );
});

test('every field that was sent is in the columns or in extra, as it was sent', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (unknown, properties) => {
      const fields = Object.entries(unknown).filter(([name]) => !Object.hasOwn(person, name));
      const result = lists[0]?.read(Object.fromEntries([...Object.entries({ ...person, properties }), ...fields]));
      if (!result?.ok) throw new Error('a documented person must be readable');
      expect(result.columns['properties']).toBe(properties === null ? null : JSON.stringify(properties));
      expect(result.columns['extra']).toBe(fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields)));
    }),
    { numRuns: 500 },
  );
});
