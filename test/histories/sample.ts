import fc from 'fast-check';
import { histories, kinds } from './moves.ts';
import { play } from './play.ts';
import { newTally, type Tally } from './promises.ts';

/** Plays so many histories, always the same ones for a seed. Rejects with the first that breaks a promise; it is not shrunk. */
export async function playSample(numRuns: number, seed: number): Promise<Tally> {
  const tally = newTally();
  const property = fc.asyncProperty(kinds, histories, (kind, moves) => play(kind, moves, tally));
  await fc.assert(property, { numRuns, seed, endOnFailure: true });
  return tally;
}
