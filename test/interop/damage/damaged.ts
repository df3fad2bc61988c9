import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Case } from './case.ts';
import { cover, entryDamages } from './entries.ts';
import { fileDamages } from './files.ts';
import { randomHistory } from './history.ts';
import { keptDamages } from './kept.ts';
import type { Random } from './random.ts';
import { bundleOf, textDamages } from './texts.ts';

/** A case, and what was done to it. */
export type Made = { given: Case; damages: string[] };

function copyOf(given: Case): Case {
  return { ...given, files: new Map(given.files), kept: { ...given.kept }, certificates: new Map(given.certificates) };
}

const areSame = (one: ReadonlyMap<string, Buffer | null>, other: ReadonlyMap<string, Buffer | null>): boolean =>
  one.size === other.size &&
  [...one].every(([name, bytes]) => {
    const own = other.get(name);
    return own === bytes || (own !== undefined && own !== null && bytes !== null && own.equals(bytes));
  });

function isUnchanged(one: Case, other: Case): boolean {
  const kept =
    JSON.stringify([one.kept, one.nowMs, one.text]) === JSON.stringify([other.kept, other.nowMs, other.text]);
  return kept && areSame(one.files, other.files) && areSame(one.certificates, other.certificates);
}

/** The case of a seed: a sound one, or a history made up, with one to three damages. */
export function damaged(sound: readonly Case[], random: Random): Made {
  const isMade = random.chance(0.3);
  const given = isMade ? randomHistory(random) : copyOf(random.pick(sound));
  const damages = isMade ? ['a history made up'] : [];
  const isCarried = given.text !== undefined;
  const kinds = isCarried ? [textDamages] : [entryDamages, entryDamages, fileDamages, keptDamages];
  for (let left = isMade ? random.below(3) : 1 + random.below(3); left > 0;) {
    const kind = random.pick(kinds);
    const name = random.pick(Object.keys(kind));
    const before = copyOf(given);
    kind[name]?.(given, random);
    // Some damages find nothing to change in some cases.
    if (isUnchanged(before, given)) continue;
    if (kind === entryDamages) cover(given, random);
    damages.push(name);
    left -= 1;
  }
  if (!isCarried && given.certificates.size > 0 && random.chance(0.15)) {
    const text = bundleOf(given, random);
    if (text !== undefined) return { given: { ...given, text }, damages: [...damages, 'as a bundle'] };
  }
  return { given, damages };
}

/** Writes the files of a case into a folder of its own. */
export function writeCase(given: Case, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, bytes] of given.files) {
    const path = join(folder, file);
    mkdirSync(bytes ? dirname(path) : path, { recursive: true });
    if (bytes) writeFileSync(path, bytes);
  }
}
