import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { runScript } from '../cli/run-cli.ts';
import { anyOperation } from '../kill/kill-point.ts';
import { runUpTo } from '../kill/killed-run.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

const child = runScript(new URL('ledger-child.ts', import.meta.url));

/** Runs the child up to an operation on the disk. Returns whether it was killed there, and what it was promised before. */
async function run(dataDir: string, nth: number): Promise<{ isKilled: boolean; size: number; checkpoints: number[] }> {
  const point = { operation: anyOperation.disk, nth, moment: 'before' } as const;
  const { isKilled, stdout } = await runUpTo(child, [dataDir], point);
  const said = (what: string): number[] =>
    [...stdout.matchAll(new RegExp(`^${what} (\\d+)$`, 'gm'))].map(([, number]) => Number(number));
  return { isKilled, size: said('size').at(-1) ?? 0, checkpoints: said('checkpoint') };
}

/** Checks that a ledger kept what was promised, and goes on as if nothing had been. */
function checkGoesOn(dataDir: string, sizeMin: number, checkpoints: readonly number[]): void {
  const folder = join(dataDir, 'ledger');
  const size = readLedger(dataDir).size();
  expect(size).toBeGreaterThanOrEqual(sizeMin);
  const ledger = openLedger(dataDir, tickingClock());
  expect(ledger.size()).toBe(size);
  ledger.checkpoint();
  const publicKey = `${readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('\n')[0] ?? ''}\n`;
  const verdict = verifyLedger({ folder, publicKey });
  expect(verdict.problems).toEqual([]);
  expect(verdict.signed).toBe(size);
  for (const covered of checkpoints) expect(covered).toBeLessThanOrEqual(size);
  const request = lifeOf(900, ledger.epoch() + 1).flat();
  ledger.append(request);
  ledger.rotateKey();
  ledger.checkpoint();
  expect(verifyLedger({ folder, publicKey })).toMatchObject({ ok: true, signed: size + request.length + 1 });
}

/**
 * Kills an appending and signing process before each nth operation on the disk, starts it again and kills it at another
 * one, and checks that the ledger kept what was promised and goes on. Returns how often a process was killed.
 */
export async function checkKills(nth: number): Promise<number> {
  for (let killedAt = nth, kills = 0; ; killedAt += nth) {
    const dataDir = temporaryFolder();
    const first = await run(dataDir, killedAt);
    const second = await run(dataDir, Math.ceil(killedAt / 2));
    // What was promised first is promised for good.
    checkGoesOn(dataDir, Math.max(first.size, second.size), [...first.checkpoints, ...second.checkpoints]);
    if (!first.isKilled) return kills;
    kills += 1 + (second.isKilled ? 1 : 0);
  }
}
