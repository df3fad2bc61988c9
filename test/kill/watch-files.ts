import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { relative } from 'node:path';
import type { Operation, Pass } from './operation.ts';
import { replaceMethod } from './replace-method.ts';

/** Every synchronous call by which this program changes a disk, beside opening, writing and closing. */
const changing = {
  mkdirSync: 'make',
  rmSync: 'remove',
  renameSync: 'rename',
  linkSync: 'link',
  fsyncSync: 'fsync',
  ftruncateSync: 'cut',
} as const;

/**
 * Hands everything that this process does to a file below a folder to `pass`, until the returned function is called. The
 * name of an operation says what is done to which file: a path without what differs from one run to the next, and for the
 * ledger the types of the records that are written.
 */
export function watchFiles(folder: string, pass: Pass): () => void {
  /** What each open descriptor leads to; the ledger's with the records that were last written. */
  const open = new Map<unknown, string>();
  const placeOf = (target: unknown): string | undefined => {
    if (typeof target === 'number') return open.get(target);
    const place = relative(folder, String(target));
    return place.startsWith('..') ? undefined : lasting(place);
  };
  const passFile = (
    name: string,
    execute: () => unknown,
    more: { isEffect: boolean } & Partial<Pick<Operation, 'isChange' | 'doHalf'>>,
  ): unknown => pass({ kind: 'disk', isChange: true, ...more, name, execute, isCommitted: () => more.isEffect });
  const undo: (() => void)[] = [];
  const replace = (
    name: keyof typeof changing | 'openSync' | 'writeFileSync' | 'closeSync',
    replacement: (execute: () => unknown, parameters: unknown[]) => unknown,
  ): void => {
    undo.push(replaceMethod(fs, name, (_self, execute, parameters) => replacement(execute, parameters)));
  };

  replace('openSync', (execute, [path, flags]) => {
    const place = placeOf(path);
    // Bounded reading opens with numbers. It changes nothing, and a failure of it is none of the disk's changes.
    const isReading = typeof flags === 'number' && (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR)) === 0;
    if (place === undefined || isReading) return execute();
    const descriptor = passFile(`open ${place}`, execute, { isEffect: false, isChange: flags !== 'r' });
    open.set(descriptor, place);
    return descriptor;
  });
  replace('closeSync', (execute, [descriptor]) => {
    open.delete(descriptor);
    return execute();
  });
  const { writeFileSync } = fs;
  replace('writeFileSync', (execute, [target, content]) => {
    const place = placeOf(target);
    if (place === undefined || typeof target !== 'number') return execute();
    const bytes = Buffer.from(content as string);
    const what = place.startsWith('ledger/entries') ? `ledger: ${recordsIn(bytes)}` : place;
    open.set(target, what);
    const doHalf = (): unknown => writeFileSync(target, bytes.subarray(0, Math.ceil(bytes.length / 2)));
    return passFile(`write ${what}`, execute, { isEffect: true, doHalf });
  });
  for (const [name, verb] of Object.entries(changing) as [keyof typeof changing, string][])
    replace(name, (execute, [target, to]) => {
      const place = placeOf(name === 'renameSync' || name === 'linkSync' ? to : target);
      if (place === undefined) return execute();
      const isEffect = verb !== 'make' && (verb !== 'fsync' || place.startsWith('ledger: '));
      return passFile(`${verb} ${place}`, execute, { isEffect });
    });
  syncBuiltinESMExports();
  return () => {
    for (const each of undo) each();
    syncBuiltinESMExports();
  };
}

/** A path without numbers of processes and parts, ids of requests and snapshots, and counts of entries. */
function lasting(place: string): string {
  return place
    .replace(/\.draft-[\da-f-]+$/, '.draft')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, 'ID')
    .replace(/(?<=snapshots\/|tmp\/snapshot-)\w+[/-]\d{8}T\d{6}\.\d{3}Z/, 'SNAPSHOT')
    .replace(/(?<=snapshots\/|tmp\/snapshot-)\w+[/-]metadata/, 'TABLE')
    .replace(/\b\d+(?=-(?:list|parts|deletes)\.)/, 'NUMBER')
    .replace(/\bv\d+\.metadata/, 'VERSION.metadata')
    .replace(/part-\d{5}/, 'PART')
    .replace(/\b\d{9}\b/, 'SIZE');
}

function recordsIn(lines: Buffer): string {
  const records = lines
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; target?: string; phase?: string });
  const names = records.map(({ type, target, phase }) =>
    [type, target?.replace(/^snapshot:.*/, 'snapshot') ?? phase].filter(Boolean).join(' '),
  );
  return [...new Set(names)].join(', ');
}
