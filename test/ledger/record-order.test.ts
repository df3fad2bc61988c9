import { describe, expect, it } from 'vitest';
import { recordOrder } from '../../docs/verifier/verify.mjs';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { lifeOf, requestId } from './ledger-fixture.ts';

const request = requestId(1);
const about = { request, generation: 1 };
const requests = [request];
const life = lifeOf(1, 1).flat();

/** What is wrong with each record, in order; those that are right are left out. */
function problemsOf(records: readonly LedgerRecord[]): string[] {
  const order = recordOrder();
  return records.flatMap((record, index) => {
    const problem = order(record);
    return problem ? [`${index} ${record.type}: ${problem}`] : [];
  });
}

/** The life of a request up to its record of that type, without it. */
function before(type: LedgerRecord['type'], target?: string): LedgerRecord[] {
  const at = life.findIndex(
    (record) => record.type === type && (target === undefined || ('target' in record && record.target === target)),
  );
  expect(at).toBeGreaterThan(0);
  return life.slice(0, at);
}

function lastProblem(records: readonly LedgerRecord[]): string | undefined {
  const order = recordOrder();
  return records.map((record) => order(record)).at(-1);
}

const asked: LedgerRecord = {
  type: 'asked',
  ...about,
  subject: 'a'.repeat(64),
  authorisation: 'b'.repeat(64),
  due_at: '2026-12-20T12:00:00.000Z',
};
const answered: LedgerRecord = { type: 'answered', ...about };
const cancelled: LedgerRecord = { type: 'cancelled', ...about };
const held: LedgerRecord = { type: 'held', ...about, reason: 'shared_identifier' };
const approved: LedgerRecord = { type: 'approved', ...about };
const fenced: LedgerRecord = { type: 'fenced', ...about, epoch: 1 };
const sealed: LedgerRecord = { type: 'sealed', ...about };
const verified: LedgerRecord = { type: 'locally_verified', ...about };
const certified: LedgerRecord = { type: 'certified', ...about, certificate: 'd'.repeat(64) };
const purged: LedgerRecord = { type: 'result', requests, target: 'mirror', result: 'purged', assurance: 'verified' };
const scan = (hits: number): LedgerRecord => ({
  type: 'scan',
  requests,
  phase: 'verify',
  files: 1,
  bytes: 1,
  needles: 1,
  hits,
});
const fencing = (epoch: number, id = request): Extract<LedgerRecord, { type: 'fencing' }> => ({
  type: 'fencing',
  request: id,
  generation: 1,
  epoch,
  fence: [{ kind: 'person_id', encrypted: 'c'.repeat(64) }],
});
const overdue: LedgerRecord = { type: 'attention', ...about, target: 'mirror', reason: 'life_exceeded' };
const reopened = (generation: number): LedgerRecord => ({
  type: 'reopened',
  request,
  generation,
  reason: 'residue_found',
});

const acknowledged = (generation: number): LedgerRecord => ({
  type: 'acknowledged',
  request,
  generation,
  consumer: 'warehouse',
});

describe('what may be recorded', () => {
  it('a whole life, and several at once', () => {
    expect(problemsOf(life)).toEqual([]);
    expect(problemsOf([...life, ...lifeOf(2, 2).flat()])).toEqual([]);
    const together = life.flatMap((record, step) => [record, lifeOf(2, 1).flat()[step] ?? record]);
    expect(problemsOf(together)).toEqual([]);
  });

  it('each record twice, as after a kill, all but the first', () => {
    const [first, ...rest] = life;
    expect(first?.type).toBe('received');
    expect(problemsOf(first ? [first, ...rest.flatMap((record) => [record, record])] : [])).toEqual([]);
    expect(problemsOf(first ? [first, first] : [])).toEqual(['1 received: received_twice']);
  });

  it.each([
    ['held, approved and fenced', [...before('scan'), held, approved, fencing(1), fenced]],
    ['held, and fenced when nothing holds it any more', [...before('scan'), held, fencing(1), fenced]],
    ['cancelled, and its identifiers destroyed', [...before('scan'), cancelled, sealed]],
    ['cancelled when it was about to be fenced', [...before('fenced'), cancelled]],
    ['destroyed unfinished, when its time is over', [...before('locally_verified'), overdue, sealed]],
    ['destroyed while held, when its time is over', [...before('scan'), held, overdue, sealed]],
    ['ended without a certificate', [...before('locally_verified'), { ...certified, certificate: null }, sealed]],
    ['reopened and proved again', [...life, reopened(2), { ...scan(0) }, { ...verified, generation: 2 }]],
    ['an older database brought up', [...life, { type: 'replayed', epoch_from: 0, epoch_to: 1, rows: 3 }]],
    ['let in again', [...life, { type: 'readmitted', ...about, reason: 'e'.repeat(64), entries: 2 }]],
    ['a request for access that is answered, written twice by a kill', [asked, answered, answered]],
    ['a request for access that is cancelled', [asked, cancelled]],
    ['acknowledged by a consumer', [...life, acknowledged(1), acknowledged(1)]],
    ['acknowledged again after it was reopened', [...life, acknowledged(1), reopened(2), acknowledged(2)]],
  ] satisfies [string, LedgerRecord[]][])('%s', (_what, records) => {
    expect(problemsOf(records)).toEqual([]);
  });
});

describe('what may not', () => {
  it.each([
    ['a request that nobody made', [fenced], 'unknown_request'],
    ['an answer to a request for erasure', [...before('scoped'), answered], 'wrong_order'],
    ['an answer that nobody asked for', [answered], 'unknown_request'],
    ['a request for access under the id of another request', [...before('scoped'), asked], 'received_twice'],
    ['an erasure by a request for access', [asked, ...life.slice(1, 2)], 'wrong_order'],
    ['a request for access that is cancelled after its answer', [asked, answered, cancelled], 'wrong_order'],
    ['acknowledged before anything was erased', [...before('fenced'), acknowledged(1)], 'wrong_order'],
    ['acknowledged of another generation', [...life, acknowledged(2)], 'wrong_generation'],
    ['fenced without an intent', [...before('fencing'), fenced], 'wrong_order'],
    ['fenced with what was not intended', [...before('fenced'), { ...fenced, epoch: 2 }], 'wrong_epoch'],
    ['a fence that continues none', [...before('fencing'), { ...fencing(1), continued: true }], 'wrong_order'],
    [
      'a fence that continues one that stands',
      [...before('intent'), { ...fencing(2), continued: true }],
      'wrong_order',
    ],
    [
      'a fence that continues one of another epoch',
      [...before('fenced'), ...lifeOf(2, 1).flat().slice(0, 5), { ...fencing(2), continued: true }],
      'wrong_epoch',
    ],
    ['a skipped epoch', [...before('fencing'), fencing(2)], 'wrong_epoch'],
    ['an epoch once more', [...life, ...lifeOf(2, 1).flat().slice(0, 4)], 'wrong_epoch'],
    [
      'an intent before the fence',
      [...before('fencing'), { type: 'intent', requests, target: 'mirror' }],
      'wrong_order',
    ],
    [
      'a requested deletion without an intent',
      [
        ...before('intent', 'mirror'),
        {
          type: 'result',
          requests,
          target: 'upstream.recordings',
          result: 'deletion_requested',
          assurance: 'asserted_by_upstream',
        },
      ],
      'result_without_intent',
    ],
    ['a purge without an intent', [...before('intent', 'mirror'), purged], 'result_without_intent'],
    [
      'another purge without an intent',
      [...before('certified'), { ...purged, target: 'aux' }],
      'result_without_intent',
    ],
    ['a second end of one intent', [...before('certified'), { ...purged, result: 'removed' }], 'result_without_intent'],
    ['verified without a scan', [...before('locally_verified').slice(0, -1), verified], 'verified_without_scan'],
    ['verified in spite of hits', [...before('locally_verified'), scan(1), verified], 'verified_without_scan'],
    [
      'verified by a scan before the last purge',
      [...before('locally_verified'), { type: 'intent', requests, target: 'aux' }, verified],
      'verified_without_scan',
    ],
    ['certified before it was verified', [...before('locally_verified'), certified], 'wrong_order'],
    [
      'certified before all has ended',
      [...before('certified'), { type: 'intent', requests, target: 'upstream.playlists' }, certified],
      'certified_with_open_intent',
    ],
    ['cancelled after the fence', [...before('certified'), cancelled], 'wrong_order'],
    ['cancelled in a later generation', [...life, reopened(2), { ...cancelled, generation: 2 }], 'wrong_order'],
    ['fenced after it was cancelled', [...before('scan'), cancelled, fencing(1)], 'wrong_order'],
    ['destroyed unfinished', [...before('certified'), sealed], 'wrong_order'],
    ['destroyed, and gone on', [...life, { type: 'intent', requests, target: 'mirror' }], 'wrong_order'],
    ['a purge of an earlier generation', [...life, reopened(2), purged], 'result_without_intent'],
    ['reopened to another generation', [...life, reopened(3)], 'wrong_generation'],
    ['a record of an older generation', [...life, reopened(2), verified], 'wrong_generation'],
    ['a first generation that is none', [{ ...life[0], generation: 2 } as LedgerRecord], 'wrong_generation'],
    ['a replay beyond the ledger', [...life, { type: 'replayed', epoch_from: 0, epoch_to: 2, rows: 3 }], 'wrong_epoch'],
  ] satisfies [string, LedgerRecord[], string][])('%s', (_what, records, problem) => {
    expect(lastProblem(records)).toBe(problem);
    expect(problemsOf(records)).toHaveLength(1);
  });

  it('each record of a life left out is noticed, but those that only tell', () => {
    const unnoticed = life.filter((_record, at) => problemsOf(life.toSpliced(at, 1)).length === 0);
    expect(unnoticed.map((record) => record.type + ('target' in record ? ` ${record.target}` : ''))).toEqual([
      'awaiting_upstream',
      'sealed',
    ]);
  });

  it('says of one request once what is wrong, and still judges the others', () => {
    const other = lifeOf(2, 2).flat();
    const wrong = life.filter(({ type }) => type !== 'fencing');
    expect(problemsOf([...wrong, ...other])).toEqual(['3 fenced: wrong_order']);
    expect(problemsOf([...wrong, ...other, { ...cancelled, request: requestId(2) }])).toHaveLength(2);
  });
});
