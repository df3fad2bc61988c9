import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createShingleSearch, shingleBytes } from '../../../src/erasure/scan/shingle-search.ts';

/** Few letters, so that texts hold much of each other. */
const bytes = (lengthMax: number): fc.Arbitrary<Uint8Array> =>
  fc
    .array(fc.constantFrom(0, 97, 98, 255), { minLength: shingleBytes, maxLength: lengthMax })
    .map((values) => Uint8Array.from(values));

/** Cuts bytes into chunks of the given lengths, over and over. */
function* chunksOf(text: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const end = at + (lengths[turn % lengths.length] ?? 1);
    yield text.subarray(at, end);
    at = end;
  }
}

function keyAt(text: Uint8Array, offset: number): string {
  return Buffer.from(text.subarray(offset, offset + shingleBytes)).toString('hex');
}

test('finds what a naive search finds, however the stream is cut', () => {
  fc.assert(
    fc.property(
      fc.array(bytes(20), { minLength: 1, maxLength: 30 }),
      fc.array(fc.oneof(bytes(40), fc.nat(29)), { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
      (needles, pieces, lengths) => {
        const text = Buffer.concat(
          pieces.map((piece) =>
            typeof piece === 'number' ? (needles[piece % needles.length] ?? new Uint8Array()) : piece,
          ),
        );
        const search = createShingleSearch(needles.length);
        const numbers = new Map<string, number>();
        for (const needle of needles) numbers.set(keyAt(needle, 0), search.add(needle, 0) ?? -1);
        const expected = Array.from({ length: text.length - shingleBytes + 1 }, (_, at) =>
          numbers.get(keyAt(text, at)),
        ).filter((found) => found !== undefined);
        const found: number[] = [];
        const stream = search.openStream((shingle) => found.push(shingle));
        for (const chunk of chunksOf(text, lengths)) {
          const reused = Buffer.from(chunk);
          stream(reused);
          reused.fill(1);
        }
        expect(found).toEqual(expected);
        expect(search.size()).toBe(numbers.size);
        // What is kept is found as before, and what is not may be passed over.
        const isKept = (shingle: number): boolean => shingle % 2 === 0;
        search.keep(isKept);
        const foundThen: number[] = [];
        search.openStream((shingle) => foundThen.push(shingle))(text);
        expect(foundThen.filter(isKept)).toEqual(expected.filter(isKept));
      },
    ),
    { numRuns: 2000 },
  );
});

test('passes over what is not kept', () => {
  const text = Buffer.from('abcdefghijklmnopqrstuvwxyz');
  const search = createShingleSearch(2);
  for (const offset of [0, 14]) search.add(text, offset);
  search.keep((shingle) => shingle === 1);
  const found: number[] = [];
  search.openStream((shingle) => found.push(shingle))(text);
  expect(found).toEqual([1]);
});

test('is full at its bound, and still knows what it holds', () => {
  const text = Buffer.from('abcdefghijklmnopqrstuvwxyz');
  const search = createShingleSearch(2);
  expect([0, 1, 2, 0].map((offset) => search.add(text, offset))).toEqual([0, 1, undefined, 0]);
});

test('each stream begins anew', () => {
  const search = createShingleSearch(1);
  search.add(Buffer.from('abcdefghijkl'), 0);
  const found: number[] = [];
  search.openStream((shingle) => found.push(shingle))(Buffer.from('abcdef'));
  search.openStream((shingle) => found.push(shingle))(Buffer.from('ghijkl'));
  expect(found).toEqual([]);
});
