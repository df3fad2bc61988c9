import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refuseRestored } from '../../../src/erasure/fence/restore-guard.ts';
import { openLedger, readLedger } from '../../../src/ledger/ledger.ts';
import { openDatabase, openDatabaseReadOnly } from '../../../src/mirror/database.ts';
import { noteTakenEntries } from '../../../src/mirror/erasure-requests.ts';
import { fenceIdentifiers, refuseLostFenceKey } from '../../../src/mirror/fence.ts';
import { freshFolder, openTestMirror, stillClock } from '../../mirror/open-test-mirror.ts';

const request = { id: '00000000-0000-4000-8000-000000000001', epoch: 1, at: '2026-01-01T00:00:00.000Z' };

test('a fence whose key is gone is refused, since a new key would let everybody in again', () => {
  const dataDir = freshFolder();
  const db = openDatabase(dataDir, stillClock);
  fenceIdentifiers(db, request, [{ kind: 'distinct_id', value: 'ann' }]);
  db.close();
  openDatabase(dataDir, stillClock).close();
  rmSync(join(dataDir, 'keys'), { recursive: true });
  expect(() => openDatabase(dataDir, stillClock)).toThrow('the key of the fence is gone');
  const reader = openDatabaseReadOnly(dataDir);
  expect(() => refuseLostFenceKey(reader, dataDir)).toThrow('the key of the fence is gone');
  reader.close();
});

test('a ledger that is gone is refused, be it after one round of erasures', () => {
  const { db, dataDir } = openTestMirror();
  expect(() => refuseRestored(db, readLedger(dataDir))).not.toThrow();
  noteTakenEntries(db, { requestEntries: () => 1, rootOfFirst: () => '' });
  expect(() => refuseRestored(db, readLedger(dataDir))).toThrow('the ledger is older than mirror.db');
  // Entries about no request are not what the mirror had of it.
  const ledger = openLedger(dataDir, stillClock);
  ledger.append([{ type: 'drill', outcome: 'passed', steps: 1, report: 'a'.repeat(64) }]);
  expect(() => refuseRestored(db, readLedger(dataDir))).toThrow('the ledger is older than mirror.db');
});
