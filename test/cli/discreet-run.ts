import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import type { Workspace } from './workspace.ts';
import type { Ended, Surroundings } from './run-cli.ts';

/** Runs commands as a workspace does, and fails where one of them says a text, or was given one in its arguments. */
export function discreetRun(
  run: Workspace['run'],
  texts: readonly string[],
): (args: readonly string[], surroundings?: Surroundings) => Promise<Ended> {
  return async (args, surroundings) => {
    const ended = await run(args, surroundings);
    expect(saidIn(`${args.join(' ')}\n${ended.stdout}\n${ended.stderr}`, texts)).toEqual([]);
    return ended;
  };
}

/** Fails where the ledger, a report, or the name of any file of a data folder has a text. */
export function assertDiscreet(dataDir: string, texts: readonly string[]): void {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  expect(saidIn(files.map(({ name }) => name).join('\n'), texts)).toEqual([]);
  const folders = [ledgerFolder(dataDir), join(dataDir, 'reports')];
  const paths = files
    .filter((file) => file.isFile() && folders.some((folder) => file.parentPath.startsWith(folder)))
    .map((file) => join(file.parentPath, file.name));
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths) expect(saidIn(readFileSync(path, 'utf8'), texts)).toEqual([]);
}

/** Which of the texts are said, by their place among them: whoever reads a failed test need not know them either. */
function saidIn(said: string, texts: readonly string[]): number[] {
  return texts.flatMap((text, index) => (said.includes(text) ? [index] : []));
}
