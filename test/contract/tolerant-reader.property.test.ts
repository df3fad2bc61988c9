import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { Person, Recording } from '../../src/contract/resources.ts';
import { tolerantReader } from '../../src/contract/tolerant-reader.ts';
import { person, recording } from './documented-rows.ts';

const lists = [
  { read: tolerantReader(Person, 'uuid'), documented: person },
  { read: tolerantReader(Recording, 'id'), documented: recording },
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
