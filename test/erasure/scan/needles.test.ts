import { describe, expect, it } from 'vitest';
import { nobody } from '../../../src/contract/identity.ts';
import type { Encoding } from '../../../src/erasure/scan/scan-task.ts';
import { makeNeedles, type Needles } from '../../../src/erasure/scan/needles.ts';

const value = 'Zoë "Ω" <ann+1@ex.example>/🦤 50% done';
const subject = (...values: string[]) => ({ request: 'r', identity: nobody, values });

/** In which encodings a text is found. */
function foundIn(needles: Needles, text: string | Buffer): Encoding[] {
  const found = new Set<Encoding>();
  needles.search.openStream((shingle) => {
    for (const { encoding } of needles.ownersOf(shingle)) found.add(encoding);
  })(Buffer.from(text));
  return [...found];
}

const ascii = (text: string): string =>
  text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

it('finds a text as published files spell it, in which NUL and unpaired surrogates are U+FFFD', () => {
  const broken = 'ab\0cde\0fgh\0ij\ud800kl';
  expect(foundIn(makeNeedles([subject(JSON.stringify(broken))]), 'ab�cde�fgh�ij�kl')).toContain('utf-8');
});

describe('needles', () => {
  const needles = makeNeedles([subject(value)]);

  it.each<[string, Encoding, string]>([
    ['as it is', 'utf-8', value],
    ['in JSON', 'json', JSON.stringify(value)],
    ['in JSON of ASCII only', 'json', ascii(JSON.stringify(value))],
    ['in JSON with slashes escaped', 'json', ascii(JSON.stringify(value)).replaceAll('/', '\\/')],
    ['as part of an address', 'percent', encodeURIComponent(value)],
    ['as an address', 'percent', encodeURI(value)],
    ['in a form', 'percent', encodeURIComponent(value).replaceAll('%20', '+')],
    ['in small percent escapes', 'percent', encodeURIComponent(value).replaceAll(/%../g, (x) => x.toLowerCase())],
    ['in base64', 'base64', Buffer.from(value).toString('base64')],
    ['in base64, one byte on', 'base64', Buffer.from(`x${value}y`).toString('base64')],
    ['in base64, two bytes on', 'base64', Buffer.from(`xy${value}z`).toString('base64')],
    ['in the base64 of addresses', 'base64', Buffer.from(value).toString('base64url')],
    ['in hex', 'hex', Buffer.from(value).toString('hex')],
    ['in capital hex', 'hex', Buffer.from(value).toString('hex').toUpperCase()],
  ])('find a text %s', (_how, encoding, text) => {
    expect(foundIn(needles, `before ${text} after`)).toContain(encoding);
  });

  it('find a text in Latin-1 and Windows-1252, if these have all of its characters', () => {
    const latin = makeNeedles([subject('Zoë Grünwald-Núñez', 'a “quoted” price: 5 €', value)]);
    expect(foundIn(latin, Buffer.from('Zoë Grünwald-Núñez', 'latin1'))).toEqual(['latin-1']);
    const quoted = Buffer.from('61209371756f746564942070726963653a20352080', 'hex');
    expect(foundIn(latin, quoted)).toEqual(['latin-1']);
  });

  it('find every piece of twelve bytes, and nothing that is shorter', () => {
    const bytes = Buffer.from(value);
    for (let at = 0; at + 12 <= bytes.length; at += 1)
      expect(foundIn(needles, bytes.subarray(at, at + 12))).toEqual(['utf-8']);
    expect(foundIn(needles, bytes.subarray(0, 11))).toEqual([]);
  });

  it('are made of the texts within JSON, not of its names', () => {
    const json = makeNeedles([subject('{"a very long name":["a very deep text",{"b":"and one more text"}]}')]);
    expect(foundIn(json, 'a very deep text')).toEqual(['utf-8']);
    expect(foundIn(json, 'and one more text')).toEqual(['utf-8']);
    expect(foundIn(json, 'a very long name')).toEqual([]);
  });

  it('take text that only looks like JSON as it is', () => {
    expect(foundIn(makeNeedles([subject('{not JSON, but long}')]), '{not JSON, b')).toEqual(['utf-8']);
  });

  it('are not made of times, which are nobody’s', () => {
    const times = makeNeedles([
      subject('2026-11-20T10:00:00.123456Z', 'at 2026-11-20T10:00:00+01:00 she said something'),
    ]);
    expect(foundIn(times, '2026-11-20T10:00:00.123456Z')).toEqual([]);
    expect(foundIn(times, ' she said something')).toEqual(['utf-8']);
    expect(times.tooShort).toEqual([1]);
  });

  it('count what is too short, for each subject', () => {
    const needles = makeNeedles([subject('ann', 'elevenbytes'), subject('twelve bytes')]);
    expect(needles.tooShort).toEqual([2, 0]);
    expect(foundIn(needles, 'elevenbytes')).toEqual([]);
  });

  it('tell of every subject that has the same text', () => {
    const both = makeNeedles([subject('the same text'), subject('not the same text')]);
    const owners: number[] = [];
    both.search.openStream((shingle) => {
      owners.push(...[...both.ownersOf(shingle)].map((owner) => owner.subject));
    })(Buffer.from('the same text'));
    expect(owners.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1]);
  });

  it('are thinned out evenly beyond the bound, and every text keeps one', () => {
    const texts = Array.from({ length: 50 }, (_, index) => `text number ${index} ${'x'.repeat(index)}`);
    const long = Array.from({ length: 2000 }, (_, index) => `word${index}`).join(' ');
    const few = makeNeedles([subject(long, ...texts)], 3000);
    expect(few.search.size()).toBeGreaterThan(1500);
    expect(few.search.size()).toBeLessThanOrEqual(3000);
    for (const text of texts) expect(foundIn(few, text)).toContain('utf-8');
    for (let at = 0; at + 2000 <= long.length; at += 1000)
      expect(foundIn(few, long.slice(at, at + 2000))).toContain('utf-8');
  });

  it('keep one of each text even where those alone are beyond the bound', () => {
    const texts = Array.from({ length: 50 }, (_, index) => `text number ${index} of many`);
    const few = makeNeedles([subject(...texts)], 10);
    for (const text of texts) expect(foundIn(few, text)).toContain('utf-8');
  });

  it('are fair to a small subject beside a large one, and stay near the bound', () => {
    const ids = Array.from({ length: 5000 }, (_, n) => `did-${String(n).padStart(8, '0')}-xyz`);
    const large = { request: 'large', identity: { ...nobody, distinct_id: ids }, values: [] };
    const both = makeNeedles([large, subject('the text of one')], 4000);
    expect(both.search.size()).toBeLessThanOrEqual(6000);
    for (const id of ids) expect(foundIn(both, id)).toContain('utf-8');
    expect(foundIn(both, Buffer.from('the text of one').toString('hex'))).toEqual(['hex']);
    const inHex = ids.filter((id) => foundIn(both, Buffer.from(id).toString('hex')).length > 0);
    expect(inHex.length).toBeGreaterThan(100);
  });

  it.each([1 << 20, 300])('know a feed key in whatever text it stands, with %i pieces at most', (limit) => {
    const uuid = '0190aaaa-1111-7222-8333-000000000001';
    const more = Array.from({ length: 40 }, (_, n) => `another distinct id, number ${n}`);
    const recording = '0190bbbb-1111-7222-8333-000000000002';
    const identity = { ...nobody, person_uuid: [uuid], recording_id: [recording] };
    const needles = makeNeedles(
      [
        { request: 'r', identity: { ...identity, distinct_id: [`did-${uuid}`, ...more] }, values: [`of ${recording}`] },
        subject(`friend of ${uuid}`),
      ],
      limit,
    );
    const isFeedKey = (text: string): boolean[] => {
      const found: boolean[] = [];
      needles.search.openStream((shingle) => found.push(needles.isFeedKey(shingle)))(Buffer.from(text));
      return [...new Set(found)];
    };
    for (const key of [uuid, recording]) expect(isFeedKey(key)).toEqual([true]);
    expect(isFeedKey(more.join('|'))).toEqual([false]);
  });
});
