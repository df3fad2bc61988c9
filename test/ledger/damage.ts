import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { writeSmallLedger } from './ledger-fixture.ts';

/** One file of a ledger, changed. */
type Damage = { what: string; file: string; content: Buffer };

function filesOf(folder: string): string[] {
  const checkpoints = readdirSync(join(folder, 'checkpoints')).map((file) => `checkpoints/${file}`);
  return ['entries.jsonl', 'public-keys.txt', ...checkpoints];
}

/** Each single bit of each file turned round. */
export function* bitFlips(folder: string): Generator<Damage> {
  for (const file of filesOf(folder)) {
    const original = readFileSync(join(folder, file));
    for (let bit = 0; bit < original.length * 8; bit += 1) {
      const content = Buffer.from(original);
      const at = Math.floor(bit / 8);
      content[at] = (content[at] ?? 0) ^ (1 << (bit % 8));
      yield { what: `bit ${bit}`, file, content };
    }
  }
}

/** Each entry removed, each two swapped, each put once more in each place, and each byte taken out or put in twice. */
export function* moves(folder: string): Generator<Damage> {
  const file = 'entries.jsonl';
  const original = readFileSync(join(folder, file));
  const lines = original.toString('utf8').slice(0, -1).split('\n');
  const changed = (what: string, kept: readonly string[]): Damage => ({
    what,
    file,
    content: Buffer.from(kept.map((line) => `${line}\n`).join('')),
  });
  for (const [at, line] of lines.entries()) {
    yield changed(`entry ${at} removed`, lines.toSpliced(at, 1));
    for (const [other, otherLine] of lines.slice(0, at).entries())
      yield changed(`entries ${other} and ${at} swapped`, lines.with(at, otherLine).with(other, line));
    for (let place = 0; place <= lines.length; place += 1)
      yield changed(`entry ${at} also at ${place}`, lines.toSpliced(place, 0, line));
  }
  for (let at = 0; at < original.length; at += 1) {
    const [head, tail] = [original.subarray(0, at), original.subarray(at)];
    yield { what: `byte ${at} removed`, file, content: Buffer.concat([head, tail.subarray(1)]) };
    // A newline more, where there is one, is an entry more; any other byte is one more of its kind, or a quote.
    yield { what: `byte ${at} twice`, file, content: Buffer.concat([head, tail.subarray(0, 1), tail]) };
  }
}

/** The file of entries cut after each byte. */
export function* cuts(folder: string): Generator<Damage> {
  const file = 'entries.jsonl';
  const original = readFileSync(join(folder, file));
  for (let bytes = 0; bytes < original.length; bytes += 1)
    yield { what: `cut to ${bytes} bytes`, file, content: original.subarray(0, bytes) };
}

/**
 * Checks that each nth damage to a small ledger is found, whose first key was kept elsewhere; how many there were.
 */
export function checkDamages(damagesOf: (folder: string) => Iterable<Damage>, nth: number): number {
  const dataDir = temporaryFolder();
  writeSmallLedger(dataDir);
  const folder = join(dataDir, 'ledger');
  const publicKey = `${readFileSync(join(folder, 'public-keys.txt'), 'utf8').split('\n')[0] ?? ''}\n`;
  const task = { folder, publicKey };
  expect(verifyLedger(task)).toMatchObject({ ok: true, size: 20, checkpoints: 3, signed: 20 });
  let checked = 0;
  let index = 0;
  for (const { what, file, content } of damagesOf(folder)) {
    index += 1;
    if (index % nth > 0) continue;
    checked += 1;
    const original = readFileSync(join(folder, file));
    writeFileSync(join(folder, file), content);
    if (verifyLedger(task).ok) expect.fail(`${what} of ${file} is not found`);
    writeFileSync(join(folder, file), original);
  }
  expect(verifyLedger(task).ok).toBe(true);
  return checked;
}
