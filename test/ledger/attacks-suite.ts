import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  acceptedBytes,
  attackedCopy,
  attacksOn,
  filesOf,
  isAccepted,
  writeAttacked,
  type Attacked,
} from './attacks.ts';

const page = readFileSync(new URL('../../docs/verifier/VERDICTS.md', import.meta.url), 'utf8');

/** The rows of VERDICTS.md: what each attack needs to be seen; undefined for one that is not listed. */
function neededFor(name: string): string | undefined {
  return new RegExp(`^\\| \`${name}\` \\|[^|]*\\| ([^|]*) \\|`, 'm').exec(page)?.[1];
}

/** Attacks a folder with everything in it: every nth change of a byte of each file, every nth of many attacks that are alike, and all others. */
export function defineAttacks(nth: { bytes: number; carried: number; attacks: number }): void {
  let attacked: Attacked;
  beforeAll(() => {
    attacked = writeAttacked(mkdtempSync(join(tmpdir(), 'mirror-attacked-')));
  });
  afterAll(() => rmSync(attacked.dataDir, { recursive: true, force: true }));

  it('a folder that was not attacked is accepted, with what was kept and without', async () => {
    const { publicKey, checkpoint } = attacked;
    expect(await isAccepted(attacked)).toBe(true);
    expect(await isAccepted(attacked, { publicKey, checkpoint })).toBe(true);
  });

  it('no change of a single byte of any file is accepted', () => {
    const { dataDir } = attacked;
    const accepted: string[] = [];
    const files = filesOf(dataDir).filter((file) => !/\.html$|^mirror\.db|^tmp|^reports\/drills/.test(file));
    expect(files.length).toBeGreaterThan(7);
    for (const file of files) {
      const isCarried = /^(?:reports\/[^/]+|kept\/receipt)\.json$/.test(file);
      const { tried, accepted: these } = acceptedBytes(attacked, file, isCarried ? nth.carried : nth.bytes);
      expect({ file, isTried: tried > 0 }).toEqual({ file, isTried: true });
      accepted.push(...these);
    }
    expect(accepted).toEqual([]);
  });

  it('every attack on the whole is refused, or listed with what has to be kept', async () => {
    const { publicKey, checkpoint } = attacked;
    const wrong: string[] = [];
    const attacks = attacksOn(attacked.dataDir);
    for (const [index, attack] of attacks.entries()) {
      const { what, listed, isOfMany = false } = attack;
      if (isOfMany && index % nth.attacks > 0) continue;
      const copy = attackedCopy(attacked, attack);
      try {
        const needed = listed === undefined ? undefined : neededFor(listed);
        if (listed !== undefined && needed === undefined) wrong.push(`${what}: VERDICTS.md has no row ${listed}`);
        const passes = {
          nothing: await isAccepted(copy),
          key: await isAccepted(copy, { publicKey }),
          checkpoint: await isAccepted(copy, { checkpoint }),
        };
        const expected = {
          nothing: listed !== undefined,
          key: needed !== undefined && needed !== 'a public key, or a checkpoint',
          checkpoint: needed === 'nothing: it is harmless',
        };
        for (const kept of ['nothing', 'key', 'checkpoint'] as const)
          if (passes[kept] !== expected[kept])
            wrong.push(`${what}: with ${kept} kept it is ${passes[kept] ? 'accepted' : 'refused'}`);
      } catch (error) {
        wrong.push(`${what}: ${String(error)}`);
      } finally {
        rmSync(copy.dataDir, { recursive: true, force: true });
      }
    }
    expect(wrong).toEqual([]);
    // Each row is shown by an attack.
    const rows = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
    expect(new Set(attacks.flatMap(({ listed }) => listed ?? []))).toEqual(new Set(rows));
  });
}
