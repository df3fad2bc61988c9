import { describe, expect, it } from 'vitest';
import { bringUp } from '../../src/erasure/fence/restore-guard.ts';
import { requestDifferences } from '../../src/erasure/bound/differences.ts';
import { catchUp, writeAgain } from '../../src/erasure/projection.ts';
import { record, together } from '../../src/erasure/request/together.ts';
import { openLedger, type Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import type { Database } from '../../src/mirror/database.ts';
import { findRequest, noteTakenEntries, updateRequest } from '../../src/mirror/erasure-requests.ts';
import { setEpoch } from '../../src/mirror/fence.ts';
import { transact } from '../../src/mirror/transact.ts';
import { lifeOf, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const request = requestId(1);
const first = { request, generation: 1 };
const second = { request, generation: 2 };

/** A life that is held first, and opened again after its end: without identifiers, then named, and fenced once more. */
const life: LedgerRecord[][] = [
  ...lifeOf(1, 1).slice(0, 2),
  [{ type: 'held', ...first, reason: 'shared_identifier' }],
  [{ type: 'approved', ...first }],
  ...lifeOf(1, 1).slice(2),
  [
    { type: 'reopened', ...second, reason: 'residue_found', unnamed: true },
    { type: 'attention', ...second, target: 'mirror', reason: 'residue_found' },
  ],
  [{ type: 'reopened', ...second, reason: 'residue_found' }],
  [{ type: 'fencing', ...second, epoch: 2, fence: [{ kind: 'person_uuid', encrypted: 'c'.repeat(64) }] }],
  [{ type: 'fenced', ...second, epoch: 2 }],
  [{ type: 'intent', requests: [request], target: 'mirror' }],
  [{ type: 'attention', ...second, target: 'mirror', reason: 'reader_holds_wal' }],
];

/** A mirror whose fence is raised already, and an empty ledger of its own. */
function openPair() {
  const { db, dataDir } = openTestMirror();
  setEpoch(db, 2);
  const clock = tickingClock();
  const ledger = openLedger(dataDir, clock);
  return { db, ledger, context: { db, clock, ledger: (): Ledger => ledger } };
}

function rowsOf(db: Database): unknown[] {
  return [
    db.prepare('SELECT * FROM erasure_requests').all(),
    db.prepare('SELECT * FROM erasure_targets ORDER BY request_id, target').all(),
    db.prepare('SELECT * FROM taken_entries').all(),
  ];
}

describe('the rows of requests', () => {
  it('are the same, whether entries are taken up one by one, after a kill at any of them, or all at once', () => {
    const { db, ledger, context } = openPair();
    const all = openTestMirror().db;
    setEpoch(all, 2);
    for (const records of life) {
      const killed = openTestMirror().db;
      setEpoch(killed, 2);
      catchUp(killed, ledger);
      record(context, ...records);
      // The kill came after the append.
      catchUp(killed, ledger);
      expect(rowsOf(killed)).toEqual(rowsOf(db));
      expect(requestDifferences(db, ledger)).toEqual([]);
    }
    catchUp(all, ledger);
    expect(rowsOf(all)).toEqual(rowsOf(db));
    expect(findRequest(db, request)).toMatchObject({ state: 'attention', reason: 'reader_holds_wal', generation: 2 });
  });

  it('are compared with what the ledger had when they were made, and so as they are after a kill', () => {
    const { db, ledger, context } = openPair();
    for (const records of life.slice(0, 8)) record(context, ...records);
    ledger.append(life[8] ?? []);
    expect(requestDifferences(db, ledger)).toEqual([]);
    db.exec(`UPDATE erasure_requests SET delete_events = 0`);
    expect(requestDifferences(db, ledger)).toHaveLength(1);
  });

  it.each([
    `state = 'sealed'`,
    `approved_at = '2026-11-20T12:00:00.000Z'`,
    `held_at = NULL`,
    `delete_events = 0`,
    `due_at = '2036-11-20T12:00:00.000Z'`,
    `basis = 'unlawful'`,
    `origin = 'upstream'`,
    `generation = 2`,
    `reason = 'too_many'`,
    `fenced_at = scoped_at`,
  ])('that were edited (%s) are found, and written again', (edit) => {
    const { db, ledger, context } = openPair();
    for (const records of life.slice(0, 3)) record(context, ...records);
    updateRequest(db, request, { box: Buffer.from('box'), authorisedBy: 'dpo' });
    const before = rowsOf(db);
    db.exec(`UPDATE erasure_requests SET ${edit}`);
    expect(requestDifferences(db, ledger)).toMatchObject([{ part: 'requests', id: request }]);
    const history = ledger.histories.of(request);
    if (!history) throw new Error('a request without a history');
    transact(db, () => writeAgain(db, history, '2026-11-20T12:00:00.000Z'));
    expect(requestDifferences(db, ledger)).toEqual([]);
    expect(rowsOf(db)).toEqual(before);
  });

  it('are not made of a ledger that is older than they are', () => {
    const { db, ledger, context } = openPair();
    record(context, ...(life[0] ?? []));
    noteTakenEntries(db, { requestEntries: () => 2, rootOfFirst: () => '' });
    expect(() => bringUp(context)).toThrow('the ledger is older than mirror.db');
    expect(() => record(context, ...(life[1] ?? []))).toThrow('the ledger is older than mirror.db');
    expect(ledger.size()).toBe(1);
  });
});

describe('a step', () => {
  it('that throws has done nothing, neither here nor on the ledger', () => {
    const { db, ledger, context } = openPair();
    record(context, ...(life[0] ?? []));
    const before = rowsOf(db);
    const failing = (): void =>
      together(context, (own) => {
        record(own, ...(life[1] ?? []));
        expect(findRequest(db, request)?.state).toBe('scoped');
        throw new Error('stop');
      });
    expect(failing).toThrow('stop');
    expect(rowsOf(db)).toEqual(before);
    expect(ledger.size()).toBe(1);
  });

  it('takes up first what another one has appended, and not written here', () => {
    const { db, ledger, context } = openPair();
    record(context, ...(life[0] ?? []));
    ledger.append(life[1] ?? []);
    record(context, ...(life[2] ?? []));
    expect(requestDifferences(db, ledger)).toEqual([]);
    expect(findRequest(db, request)).toMatchObject({ state: 'held', scopedAt: expect.any(String) });
  });
});
