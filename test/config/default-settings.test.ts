import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Settings } from '../../src/config/settings.ts';

const text = readFileSync(new URL('../../config/default.yaml', import.meta.url), 'utf8');

/** The dotted paths of all settings that have no settings below them. */
function settingPaths(schema: z.ZodObject, prefix = ''): string[] {
  return Object.entries(schema.shape).flatMap(([name, child]) =>
    child instanceof z.ZodObject ? settingPaths(child, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

/**
 * The settings of a file that no comment explains. A comment explains the settings below it until the next blank
 * line or the end of their group; one above a group explains the whole group.
 */
function unexplained(yaml: string, paths: readonly string[]): string[] {
  const explained = new Set<string>();
  const groups: { indent: number; name: string; isExplained: boolean }[] = [];
  const commented = new Map<number, boolean>();
  for (const line of yaml.split('\n')) {
    if (line.trim() === '') commented.clear();
    const indent = line.search(/\S/);
    if (line.trim().startsWith('#')) commented.set(indent, true);
    const name = /^\s*(\w+):/.exec(line)?.[1];
    if (name === undefined) continue;
    while ((groups.at(-1)?.indent ?? -1) >= indent) groups.pop();
    for (const level of commented.keys()) if (level > indent) commented.delete(level);
    const isExplained = commented.has(indent) || (groups.at(-1)?.isExplained ?? false);
    groups.push({ indent, name, isExplained });
    if (isExplained) explained.add(groups.map((group) => group.name).join('.'));
  }
  return paths.filter((path) => !explained.has(path));
}

test('the defaults are valid settings by themselves', () => {
  expect(Settings.safeParse(parse(text)).error?.issues).toBeUndefined();
});

test('every setting has its default there, and a comment above it', () => {
  const paths = settingPaths(Settings);
  expect(paths.length).toBeGreaterThan(25);
  expect(unexplained(text, paths)).toEqual([]);
});

test('a setting without a comment is found', () => {
  const yaml = '# A.\na: 1\n\nb:\n  # C.\n  c: 1\n\n  d: 2\n# E.\ne:\n  f: 1\n\ng: 1\n';
  expect(unexplained(yaml, ['a', 'b.c', 'b.d', 'e.f', 'g', 'h'])).toEqual(['b.d', 'g', 'h']);
});
