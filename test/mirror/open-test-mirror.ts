import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { databasePath, openDatabase, type Database } from '../../src/mirror/database.ts';

/** A clock that stands still. */
export const stillClock: Clock = {
  now: () => Date.UTC(2026, 0, 1),
  sleep: () => Promise.reject(new Error('nothing should sleep here')),
};

/** DuckDB would take it for a pattern of names, and for a column of the persons that are published. */
const awkwardName = "person_uuid=it's [1]*";

/** A fresh folder with an awkward name, gone when the test has ended. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const awkward = join(folder, awkwardName);
  mkdirSync(awkward, { mode: 0o700 });
  return awkward;
}

let emptyMirror: Buffer | undefined;

/** Puts a mirror without rows into a folder that has none: a copy of one that was made once, since its migrations take time. */
export function putEmptyMirror(dataDir: string): void {
  if (existsSync(databasePath(dataDir))) return;
  emptyMirror ??= makeEmptyMirror();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(databasePath(dataDir), emptyMirror, { mode: 0o600 });
}

function makeEmptyMirror(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-test-'));
  try {
    openDatabase(folder, stillClock).close();
    return readFileSync(databasePath(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A real mirror in a fresh folder, closed and gone when the test has ended. */
export function openTestMirror(dataDir = freshFolder()): { db: Database; dataDir: string } {
  putEmptyMirror(dataDir);
  const db = openDatabase(dataDir, stillClock);
  onTestFinished(() => {
    db.close();
  });
  return { db, dataDir };
}
