import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareErasure, type PreparedErasure } from './erasure-workspace.ts';
import { assertErasesAfter, referenceErasure, executionsAfter, type ReferenceErasure } from './killed-erasure.ts';
import { killPoint, killPoints, type KillPoint } from '../kill/kill-point.ts';
import { shareOut } from './share-out.ts';

/** One for each core of a small machine. */
const lanes = [1, 2];
/** How many kills one erasure may have. */
const killsMax = 10;
/** From one second point to the next: a prime, so that they are spread over all. */
const stride = 37;

let prepared: PreparedErasure;
let reference: ReferenceErasure;
let points: KillPoint[];
beforeAll(async () => {
  prepared = await prepareErasure();
  reference = await referenceErasure(prepared);
  points = killPoints(reference.executions);
});
afterAll(() => prepared[Symbol.asyncDispose]());

/** The sweeps come in parts, so that one part can be run by its name: `npm run test:slow -- killed-erasure -t "part 2"`. */
const parts = [1, 2, 3, 4];
/** The points of a part: every fourth. */
const pointsOf = (part: number, all: readonly KillPoint[]): KillPoint[] =>
  all.filter((_point, index) => index % parts.length === part - 1);

/** Kills at each of the points; a point in work that a killed run has done, and the next does not do again, begins another erasure. */
async function killAtEach(all: readonly KillPoint[]): Promise<void> {
  let left = [...all];
  while (left.length > 0) {
    const apart = Math.ceil(left.length / killsMax);
    const erasures = left
      .slice(0, apart)
      .map((_first, start) => left.filter((_point, index) => index % apart === start));
    const passedOver: KillPoint[] = [];
    await shareOut(lanes, erasures, async (_lane, kills) => {
      passedOver.push(...(await assertErasesAfter(reference, kills)));
    });
    left = passedOver;
  }
}

it.each(parts)('a reconciliation may be killed where it first does anything (part %i)', async (part) => {
  const firsts = points.filter(({ nth }) => nth === 1);
  expect(firsts.length).toBeGreaterThan(200);
  await killAtEach(pointsOf(part, firsts));
});

it.each(parts)('so may it where it does anything again, or for the last time (part %i)', async (part) => {
  const later = points.filter(({ nth }) => nth > 1);
  expect(later.length).toBeGreaterThan(200);
  await killAtEach(pointsOf(part, later));
});

it.each(parts)('the reconciliation after a killed one may be killed anywhere too (part %i)', async (part) => {
  const firsts = points.filter((_point, index) => index % 12 === 5);
  await shareOut(lanes, pointsOf(part, firsts), async (_lane, first) => {
    const index = firsts.indexOf(first);
    // Of what is tried until it succeeds, nobody knows how often.
    const seconds = killPoints(await executionsAfter(prepared, first)).filter(({ nth }) => nth === 1);
    const second = seconds[(index * stride) % seconds.length];
    if (!second) throw new Error('nothing was left to be done');
    expect(await assertErasesAfter(reference, [first, second])).toEqual([]);
  });
});

/** In the order in which a reconciliation passes them. */
const moments: readonly [moment: KillPoint['moment'], pattern: RegExp, nth?: number][] = [
  ['within', /^write ledger: fencing$/],
  ['after', /^COMMIT after UPDATE erasure_epoch/],
  ['after', /^fsync ledger: intent snapshot$/],
  ['after', /^rename snapshots\/SNAPSHOT\/manifest.json$/],
  ['after', /^remove snapshots\/SNAPSHOT\/PART/, 2],
  ['after', /^VACUUM$/],
  ['after', /^fsync ledger: scan verify, .*locally_verified$/],
  ['within', /^write ledger: result upstream.person$/],
  ['after', /^write ledger: certified$/],
  ['after', /^COMMIT after UPDATE erasure_requests SET box/],
  ['within', /^write ledger: sealed$/],
];

it('an erasure may die at every step, one time after the other, and ends as if nothing had been', async () => {
  const { executions } = reference;
  const points = moments.map(([moment, pattern, nth]) => killPoint(executions, moment, pattern, nth));
  expect(await assertErasesAfter(reference, points)).toEqual([]);
});

it('this sees an erasure that does not die where it should', async () => {
  const point = killPoint(reference.executions, 'before', /^VACUUM$/, 1000);
  await expect(assertErasesAfter(reference, [point])).rejects.toThrow('killed before #1000 VACUUM');
});
