import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

const child = fileURLToPath(new URL('./ledger-child.ts', import.meta.url));

/** Runs the child, to be killed before a change of the disk; whether it was, and what it was promised before. */
function run(dataDir: string, killedAt: number): { isKilled: boolean; size: number; checkpoints: number[] } {
  const { signal, status, stdout } = spawnSync(process.execPath, [child, dataDir, String(killedAt)], {
    encoding: 'utf8',
  });
  expect([signal, status]).toEqual(signal === null ? [null, 0] : ['SIGKILL', null]);
  const said = (what: string): number[] =>
    [...stdout.matchAll(new RegExp(`^${what} (\\d+)$`, 'gm'))].map(([, number]) => Number(number));
  return { isKilled: signal !== null, size: said('size').at(-1) ?? 0, checkpoints: said('checkpoint') };
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
  const request = lifeOf(900, ledger.epoch() + 1);
  ledger.append(request.flat());
  ledger.rotateKey();
  ledger.checkpoint();
  expect(verifyLedger({ folder, publicKey })).toMatchObject({ ok: true, signed: size + request.length + 1 });
}

/**
 * Kills an appending and signing process before each nth change of the disk, starts it again, to be killed at a later one,
 * and checks that the ledger kept what was promised and goes on. How many kills there were.
 */
export function checkKills(nth: number): number {
  for (let killedAt = nth, kills = 0; ; killedAt += nth) {
    const dataDir = temporaryFolder();
    const first = run(dataDir, killedAt);
    const second = run(dataDir, Math.ceil(killedAt / 2));
    // What was promised first is promised for good.
    checkGoesOn(dataDir, Math.max(first.size, second.size), [...first.checkpoints, ...second.checkpoints]);
    if (!first.isKilled) return kills;
    kills += 1 + (second.isKilled ? 1 : 0);
  }
}
