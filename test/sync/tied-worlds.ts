import fc from 'fast-check';
import { type Moments, type Serving, plainServing } from './drifting-list.ts';
import { drift, walkBy, type Judge, type Outcome, type Run } from './walk-model.ts';
import { judgePage } from '../../src/sync/walk-plan.ts';

/** A list of which many rows are of one moment, as after an import. */
export type TiedWorld = {
  size: number;
  pageSize: number;
  moments: Moments;
  /** The most rows that the service serves at once. */
  cap: number;
  /** How many changes are made, one between two answers each. */
  changes: number;
  seed: number;
};

/** Rows come, go and move; none stays in its place unseen. */
const changing = drift.filter(({ kind }) => kind !== 'lose');

/** Walks a tied world, with pages that overlap as they do by default. */
export function walkTied(
  { size, pageSize, moments, cap, changes, seed }: TiedWorld,
  judge: Judge = judgePage,
): Outcome {
  const serving: Serving = { ...plainServing, cap, moments };
  const drifts = fc.sample(changing, { numRuns: changes, seed });
  const run: Run = {
    size,
    pageSize,
    overlap: Math.max(5, pageSize / 50),
    inFlightMax: 1,
    serving,
    events: drifts.map((each) => ({ drift: each, answers: 0, fails: false })),
  };
  return walkBy(run, judge);
}
