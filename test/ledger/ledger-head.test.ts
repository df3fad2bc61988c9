import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { readLedgerHead } from '../../src/ledger/ledger-head.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

test('where there is no ledger, there is no head', () => {
  expect(readLedgerHead(ledgerFolder(freshFolder()))).toBeUndefined();
});

test('the head is that of the whole ledger, at every entry', () => {
  const dataDir = freshFolder();
  const folder = ledgerFolder(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  for (const [index, records] of lifeOf(1, 1).entries()) {
    ledger.append(records);
    const { size, rootHash } = readLedger(dataDir).head();
    const head = readLedgerHead(folder);
    expect(head).toMatchObject({ entries: size });
    expect(head?.lastEntryAt).toBe(`2026-11-20T12:00:${String(index + 1).padStart(2, '0')}.000Z`);
    if (index === 4) {
      ledger.checkpoint();
      expect(readLedgerHead(folder)?.checkpoint).toMatchObject({ size, root: rootHash });
    }
  }
  expect(readLedgerHead(folder)?.checkpoint?.size).toBe(5);
});

test('what is being written, or was left by a kill, is no entry yet', () => {
  const dataDir = freshFolder();
  const [first = []] = lifeOf(1, 1);
  openLedger(dataDir, tickingClock()).append(first);
  appendFileSync(entriesPath(ledgerFolder(dataDir)), '{"type":"sea');
  expect(readLedgerHead(ledgerFolder(dataDir))).toMatchObject({ entries: 1, checkpoint: null });
});
