import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// Every synchronous call by which this program changes a disk.
const changing = [
  'mkdirSync',
  'openSync',
  'writeFileSync',
  'ftruncateSync',
  'fsyncSync',
  'linkSync',
  'renameSync',
  'rmSync',
] as const;

/**
 * Calls `beforeStep` with 1, 2, 3, … before each call that changes the disk, made anywhere in this process, until the returned
 * function is called.
 */
export function watchDiskChanges(beforeStep: (step: number) => void): () => void {
  let step = 0;
  const originals = changing.map((name) => [name, fs[name]] as const);
  for (const [name, original] of originals)
    Reflect.set(fs, name, (...parameters: unknown[]): unknown => {
      step += 1;
      beforeStep(step);
      return Reflect.apply(original, fs, parameters);
    });
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) Reflect.set(fs, name, original);
    syncBuiltinESMExports();
  };
}
