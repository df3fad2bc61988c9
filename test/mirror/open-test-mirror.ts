import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';

/** A clock that stands still. */
export const stillClock: Clock = {
  now: () => Date.UTC(2026, 0, 1),
  sleep: () => Promise.reject(new Error('nothing should sleep here')),
};

/** A fresh folder, gone when the test has ended. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A real mirror in a fresh folder, closed and gone when the test has ended. */
export function openTestMirror(dataDir = freshFolder()): { db: Database; dataDir: string } {
  const db = openDatabase(dataDir, stillClock);
  onTestFinished(() => {
    db.close();
  });
  return { db, dataDir };
}
