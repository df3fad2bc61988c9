import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sightingOf } from '../../src/contract/row-readers.ts';
import { readJsonText, textLeaves } from '../../src/core/exact-json.ts';

const uuid = '0190aaaa-1111-7222-8333-00000000000a';
const shown = (properties: string) => sightingOf('persons', { uuid, id: 1, distinct_ids: '["a"]', properties });

/** The texts within the properties that a sighting has. */
function textsIn({ values }: { values: readonly string[] }): string[] {
  return values.flatMap((value) => [...textLeaves(readJsonText(value) ?? value)]);
}

describe('of the texts of a row with far more than are searched for', () => {
  it('the first ones are kept, by themselves, and the others are counted', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('"', '\\', ':', '":', '{"a":1}'),
    );
    // V8's `JSON.parse`, which this compares with, takes a name with an escape for an earlier one that ends with a backslash.
    const anyKey = anyText.filter((text) => !text.includes('\\'));
    const anyJson = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3, depthSize: 'small' },
        anyText,
        fc.integer(),
        fc.constantFrom(true, null, 'x'.repeat(30_000)),
        fc.array(tie('value')),
        fc.dictionary(anyKey, tie('value')),
      ),
    })).value;
    fc.assert(
      fc.property(fc.dictionary(anyKey, anyJson, { minKeys: 1 }), (some) => {
        const filler = Array.from({ length: 3000 }, (_, n) => `filler ${n} ${'y'.repeat(90)}`);
        const properties = JSON.stringify({ some, filler, last: 'never kept, since there is no room' });
        const leaves = [...new Set(textLeaves(JSON.parse(properties)))];
        const sighting = shown(properties);
        const kept = textsIn(sighting);
        expect(properties.length).toBeGreaterThan(262_144);
        expect(kept.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(262_144);
        expect(kept).toEqual(leaves.filter((leaf) => kept.includes(leaf)));
        // Nothing is left out that there was room for.
        let room = 262_144;
        const fitting = leaves.filter(({ length }) => length <= room && (room -= length) >= 0);
        expect(kept).toEqual(fitting);
        expect(sighting.left_out).toBeGreaterThanOrEqual(leaves.length - kept.length);
      }),
      { numRuns: 25 },
    );
  });

  it('none is left out of a row that has no more, nor is its text changed', () => {
    const properties = JSON.stringify({ email: ' Ann@X.example', more: 'x'.repeat(262_000) });
    expect(shown(properties)).toEqual({
      person_uuid: uuid,
      person_id: '1',
      distinct_ids: ['a'],
      recording_id: null,
      values: [properties],
      email: 'ann@x.example',
    });
  });

  it('the address of the person is found in half a million properties, and a text that is no JSON is left out', () => {
    const many = Object.fromEntries(Array.from({ length: 500_000 }, (_, n) => [`p${n}`, `text ${n}`]));
    const sighting = shown(JSON.stringify({ ...many, email: 'Ann@X.example' }));
    expect(sighting.email).toBe('ann@x.example');
    expect(sighting.left_out).toBeGreaterThan(450_000);
    expect(textsIn(sighting)).toContain('text 7');
    const named = sightingOf('persons', { uuid, name: 'n'.repeat(300_000) });
    expect(named).toMatchObject({ values: [], left_out: 1 });
  });
});
