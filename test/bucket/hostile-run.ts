import { expect } from 'vitest';
import { peakOf } from '../cli/peak-memory.ts';
import type { Ended, Running } from '../cli/run-cli.ts';
import type { S3Model } from './s3-model.ts';
import type { Hostile } from './hostile-answers.ts';

/** What a command may need in memory at any store, in megabytes. */
const memoryMax = 300;
/** A command that has more is ended: it would take the machine's memory. */
const endedAt = 1_000;
const secondsMax = 180;

/** What hostile answers cost: the most memory, in megabytes, and the time, in seconds. */
export type Cost = { megabytes: number; seconds: number };

/** Runs a command to its end: how it ended, and what that cost. */
export async function costOf(running: Running): Promise<{ ended: Ended; cost: Cost }> {
  const began = performance.now();
  const [peak, ended] = await Promise.all([peakOf(running.child, endedAt << 20), running.ended]);
  return { ended, cost: { megabytes: peak / 2 ** 20, seconds: (performance.now() - began) / 1_000 } };
}

/** Runs a command at a store that answers in a hostile way, and expects that it ends soon, within its memory, and says why in one sentence. */
export async function runAtHostile(
  model: S3Model,
  { what, intercept, isHarmless = false }: Hostile,
  start: () => Running,
  { codes, secrets, sentence }: { codes: readonly number[]; secrets: readonly string[]; sentence: RegExp },
): Promise<{ ended: Ended; cost: Cost }> {
  model.vices = { keepsNoChecksum: true };
  model.intercept = intercept(model);
  const { ended, cost } = await costOf(start());
  model.intercept = () => false;
  model.vices = {};
  const all = `${what}: ${ended.code}, ${Math.round(cost.megabytes)} MB, ${cost.seconds.toFixed(1)} s, ${ended.stderr}${ended.stdout}`;
  expect(cost.megabytes, `the command: ${all}`).toBeLessThan(memoryMax);
  expect(cost.megabytes, `the command: ${all}`).toBeGreaterThan(50);
  expect(cost.seconds, `the command: ${all}`).toBeLessThan(secondsMax);
  expect(isHarmless ? [0, ...codes] : codes, `the command: ${all}`).toContain(ended.code);
  if (ended.code !== 0) expect(`${ended.stderr}${ended.stdout}`, `the command: ${all}`).toMatch(sentence);
  for (const secret of [...secrets, 'should not have happened', 'Deserialization'])
    expect(`${ended.stderr}${ended.stdout}`, `the command: ${what}`).not.toContain(secret);
  return { ended, cost };
}

/** Says what the hostile answers of a kind have cost at most. */
export function tellCosts(what: string, costs: readonly Cost[]): void {
  const most = (of: keyof Cost): number => Math.max(...costs.map((cost) => cost[of]));
  process.stdout.write(`${what}: ${Math.round(most('megabytes'))} MB, ${most('seconds').toFixed(1)} s at most\n`);
}
