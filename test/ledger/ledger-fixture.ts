import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../src/core/clock.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Stated } from '../../src/erasure/proof/certificate.ts';
import { openLedger, type Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { systemClock } from '../../src/core/clock.ts';

/** A clock that moves on by a second each time it is read. */
export function tickingClock(startMs = Date.UTC(2026, 10, 20, 12)): Clock {
  let nowMs = startMs;
  return { ...systemClock, now: () => (nowMs += 1000) };
}

/** The id of the nth request. */
export function requestId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

const hex = (digit: string): string => digit.repeat(64);
const file = 'snapshot:persons/20261120T125500.123Z/part-00001.parquet';

/** All that is recorded of the nth request, from its first to its last day, step by step. */
export function lifeOf(n: number, epoch: number): LedgerRecord[][] {
  const request = requestId(n);
  const about = { request, generation: 1 };
  const requests = [request];
  return [
    [
      {
        type: 'received',
        ...about,
        origin: 'manual',
        basis: 'consent_withdrawn',
        subject: hex('a'),
        authorisation: hex('b'),
        delete_events: true,
        due_at: '2026-12-20T12:00:00.000Z',
      },
    ],
    [{ type: 'scoped', ...about, persons: 1, distinct_ids: 2, recordings: 3, quarantined: 0, files: 1 }],
    [{ type: 'scan', requests, phase: 'control', files: 9, bytes: 4096, needles: 30, hits: 12 }],
    [{ type: 'fencing', ...about, epoch, fence: [{ kind: 'person_uuid', encrypted: hex('c') }] }],
    [{ type: 'fenced', ...about, epoch }],
    [{ type: 'intent', requests, target: 'upstream.person' }],
    [{ type: 'intent', requests, target: 'mirror' }],
    [{ type: 'result', requests, target: 'mirror', result: 'purged', assurance: 'verified' }],
    [{ type: 'intent', requests, target: file }],
    [
      {
        type: 'result',
        requests,
        target: file,
        result: 'rewritten',
        assurance: 'verified',
        rows_before: 10,
        rows_removed: 1,
      },
    ],
    [{ type: 'result', requests, target: 'upstream.person', result: 'deleted', assurance: 'observed' }],
    [{ type: 'scan', requests, phase: 'verify', files: 9, bytes: 4000, needles: 30, hits: 0, left_out: 2 }],
    [{ type: 'locally_verified', ...about }],
    [{ type: 'awaiting_upstream', ...about, events_expected_by: '2026-11-23T05:00:00.000Z' }],
    [
      { type: 'result', requests, target: 'upstream.playlists', result: 'not_applicable', assurance: 'observed' },
      { type: 'result', requests, target: 'upstream.recordings', result: 'absent', assurance: 'observed' },
      { type: 'result', requests, target: 'upstream.events', result: 'not_verifiable', assurance: 'not_verifiable' },
    ],
    [{ type: 'certified', ...about, certificate: hex('d') }],
    [{ type: 'sealed', ...about }],
  ];
}

/** The lives of two requests that are erased together: what is done is recorded once for both. */
export function lifeOfBatch([first, second]: [number, number], epoch: number): LedgerRecord[] {
  const requests = [requestId(first), requestId(second)];
  const records: LedgerRecord[] = [];
  for (const [at, record] of lifeOf(first, epoch).flat().entries())
    if ('requests' in record) records.push({ ...record, requests });
    else
      records.push(
        record,
        ...lifeOf(second, epoch)
          .flat()
          .slice(at, at + 1),
      );
  return records;
}

/** Lets the records of a life name consumers of the published files. */
export function naming(consumers: string[]): (record: LedgerRecord) => LedgerRecord {
  return (record) => (record.type === 'locally_verified' ? { ...record, consumers } : record);
}

/** Gives a data folder keys that are no secret, so that what is signed is the same each time. */
export function plantKeys(dataDir: string, { next = '22' }: { next?: string } = {}): void {
  mkdirSync(join(dataDir, 'keys'), { recursive: true });
  writeFileSync(join(dataDir, 'keys/ledger.key'), `${'11'.repeat(32)}\n`);
  writeFileSync(join(dataDir, 'keys/ledger.key.next'), `${next.repeat(32)}\n`);
}

/** A ledger of one request, with three checkpoints and a rotation of the key between them; all of it is signed. */
export function writeSmallLedger(dataDir: string): Ledger {
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  const life = lifeOf(1, 1);
  for (const [step, records] of life.entries()) {
    ledger.append(records);
    if (step === 4) ledger.checkpoint();
    if (step === 12) ledger.rotateKey();
  }
  ledger.checkpoint();
  return ledger;
}

/** What a certificate depends on beside the ledger: settings that no test changes. */
export const issuing = {
  service: { baseUrl: 'https://analytics.example.com', projectId: '1' } as Settings['service'],
  audit: {
    controller: { name: 'Example GmbH', contact: 'privacy office, Berlin' },
    backupDays: null,
  } as unknown as Settings['audit'],
  erasure: { feedRetentionDays: 30 },
  export: { consumers: ['crm-team', 'warehouse'] },
};

/** The same, as a certificate states it. */
export const stated: Stated = {
  controller: issuing.audit.controller as Stated['controller'],
  deletions_list_until: '2026-12-20T12:00:05.000Z',
  program: '0.1.0',
  service: { url: 'https://analytics.example.com', project: '1' },
};
