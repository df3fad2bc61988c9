import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { peakOf } from '../cli/peak-memory.ts';
import type { Fuzzed, FuzzPlan } from './fuzz.ts';

const child = fileURLToPath(new URL('./fuzz-child.ts', import.meta.url));

/** A million answers: without sockets, where thousands of times as many pass in the same time, and over real ones. */
const parts = { dispatcher: { answers: 49_000, seeds: 20 }, sockets: { answers: 20_000, seeds: 1 } } as const;
const residentBytesMax = 400e6;
const slowestMsMax = 5000;

async function run(plan: FuzzPlan): Promise<Fuzzed & { bytes: number }> {
  const running = spawn(process.execPath, [child, JSON.stringify(plan)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = Promise.all([text(running.stdout), text(running.stderr), once(running, 'close')]);
  const bytes = await peakOf(running);
  const [json, trouble] = await said;
  expect(trouble).toBe('');
  return { ...(JSON.parse(json) as Fuzzed), bytes };
}

it
  .skipIf(process.platform !== 'linux')
  .each(Object.entries(parts) as ['dispatcher' | 'sockets', { answers: number; seeds: number }][])(
  'a million answers crash nothing, hang nothing and stay below 400 MB: those of the %s',
  async (through, { answers, seeds }) => {
    const ends: Record<string, number> = {};
    let given = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { bytes, slowestMs, ...fuzzed } = await run({ answers, seed, largeShare: 4000, through });
      expect(fuzzed.answers).toBe(answers);
      expect(slowestMs).toBeLessThan(slowestMsMax);
      expect(bytes).toBeLessThan(residentBytesMax);
      given += answers;
      for (const [end, count] of Object.entries(fuzzed.ends)) ends[end] = (ends[end] ?? 0) + count;
      process.stdout.write(
        `${through}: ${given} answers, ${Math.round(bytes / 1e6)} MB, slowest ${Math.round(slowestMs)} ms\n`,
      );
    }
    process.stdout.write(`${through}: ${given} answers ended as ${JSON.stringify(ends)}\n`);
  },
  4 * 3_600_000,
);
