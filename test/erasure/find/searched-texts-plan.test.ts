import { describe, expect, it } from 'vitest';
import { nobody } from '../../../src/contract/identity.ts';
import { planSearchedTexts } from '../../../src/erasure/find/searched-texts-plan.ts';

const person = (...values: string[]) => ({ recording_id: null, values });
const recording = (...values: string[]) => ({ recording_id: 'r', values });

describe('what scans search for', () => {
  it('is every text of the rows once, those within JSON by themselves, without identifiers', () => {
    const identity = { ...nobody, distinct_id: ['ann@x'], person_id: ['17'] };
    const rows = [
      person('Ann', JSON.stringify({ email: 'ann@x', name: 'Ann', age: 7, of: [{ city: 'Ulm' }] })),
      recording('https://x/17', JSON.stringify({ distinct_ids: ['ann@x'], properties: { level: '17' } })),
    ];
    const unread = [{ values: ['{"note":"unread","city":"Ulm"}'] }];
    expect(planSearchedTexts(identity, rows, unread)).toEqual({
      values: ['Ann', 'Ulm', 'https://x/17', '17', 'unread'],
      leftOut: 0,
    });
  });

  it('has a text that is JSON by chance as it stands', () => {
    const { values } = planSearchedTexts(nobody, [person(JSON.stringify({ note: '["a","b"]' }))], []);
    expect(values.map((value) => JSON.parse(value) as unknown)).toEqual(['["a","b"]']);
  });

  it('leaves out only what there is no room for, and counts it', () => {
    const rows = [person(JSON.stringify(['short', 'x'.repeat(90), 'also short', 'y'.repeat(89)]))];
    const { values, leftOut } = planSearchedTexts(nobody, rows, [], 120);
    expect(values).toEqual(['short', 'x'.repeat(90), 'also short']);
    expect(leftOut).toBe(1);
  });

  it('has room for each kind of text, whatever there is of the others', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `text number ${index}`);
    const rows = [
      ...many.map((text) => recording(`https://x/${text}`, JSON.stringify({ text }))),
      person('Ann', JSON.stringify({ email: 'ann@x' })),
    ];
    const unread = [{ values: [JSON.stringify({ note: 'unread' })] }];
    const { values, leftOut } = planSearchedTexts(nobody, rows, unread, 1000);
    expect(values).toEqual(expect.arrayContaining(['Ann', 'ann@x', 'unread', many[0], `https://x/${many[0]}`]));
    expect(values.join('').length).toBeGreaterThan(900);
    expect(values.join('').length).toBeLessThanOrEqual(1000);
    expect(leftOut).toBe(2003 - values.length);
  });
});
