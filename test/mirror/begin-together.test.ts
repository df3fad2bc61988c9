import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { databasePath, openDatabase } from '../../src/mirror/database.ts';
import { freshFolder } from './open-test-mirror.ts';

/** Begins to write a fresh file, as another process that has come a moment earlier, and ends that soon. */
const writer = `const { workerData, parentPort } = require('node:worker_threads');
  const db = new (require('better-sqlite3'))(workerData);
  db.exec('BEGIN IMMEDIATE');
  parentPort.postMessage('begun');
  setTimeout(() => db.exec('COMMIT').close(), 300);`;

it('a mirror is opened while another process begins it, in a fresh folder', async () => {
  const dataDir = join(freshFolder(), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(databasePath(dataDir), '', { mode: 0o600 });
  const other = new Worker(writer, { eval: true, workerData: databasePath(dataDir) });
  await once(other, 'message');
  const db = openDatabase(dataDir, systemClock);
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
  db.close();
  await once(other, 'exit');
});
