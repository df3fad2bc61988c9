import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { readLedgerHead } from '../../src/ledger/ledger-head.ts';
import { openLedger, readLedger, type LedgerReader } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { breakDisk } from '../kill/broken-disk.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, requestId, tickingClock } from './ledger-fixture.ts';

const lineBytesMax = 1024 * 1024;
const life = lifeOf(1, 1).flat();
const request = requestId(1);
const fenced: LedgerRecord = { type: 'fenced', request, generation: 1, epoch: 1 };

type Fencing = Extract<LedgerRecord, { type: 'fencing' }>;

/** The fence of a person with so many recordings and two other identifiers, in no order. */
function fencingOf(recordings: number): Fencing {
  const mac = (n: number): string => (BigInt(n + 1) * 0x9e3779b97f4a7c15n).toString(16).padStart(64, '0').slice(-64);
  return {
    type: 'fencing',
    request,
    generation: 1,
    epoch: 1,
    fence: [
      { kind: 'recording_id', encrypted: mac(0) },
      { kind: 'person_uuid', encrypted: mac(1) },
      { kind: 'distinct_id', encrypted: mac(2) },
      ...Array.from({ length: recordings - 1 }, (_, n) => ({ kind: 'recording_id' as const, encrypted: mac(n + 3) })),
    ],
  };
}

function entriesOf(dataDir: string): string {
  return join(dataDir, 'ledger/entries.jsonl');
}

function linesOf(dataDir: string): string[] {
  return readFileSync(entriesOf(dataDir), 'utf8').split('\n').slice(0, -1);
}

/** What is compared between two ledgers. */
function stateOf(ledger: LedgerReader): object {
  const { histories, bound } = ledger;
  return {
    fence: histories.of(request)?.fence?.entries,
    digest: bound.fences.get(request),
    begun: bound.begunFences.get(request),
    epoch: ledger.epoch(),
  };
}

describe('a list that is too long for a line', () => {
  it('is split over entries, whichever list it is, and the verifier follows', () => {
    const dataDir = temporaryFolder();
    const requests = Array.from({ length: 5001 }, (_, n) => requestId(n + 1));
    const snapshots = Array.from({ length: 5001 }, (_, n) => ({
      dataset: 'persons' as const,
      snapshot_id: `${20_000_000 + n}T120000.000Z`,
      manifest: 'a'.repeat(64),
    }));
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(
      requests.flatMap((_id, n) =>
        lifeOf(n + 1, 1)
          .flat()
          .slice(0, 2),
      ),
    );
    ledger.append(requests.map((id) => ({ ...fencingOf(1), request: id })));
    ledger.append([fencingOf(12_001)]);
    ledger.append(requests.map((id) => ({ ...fenced, request: id })));
    ledger.append([
      { type: 'intent', requests, target: 'mirror' },
      { type: 'result', requests, target: 'mirror', result: 'purged', assurance: 'observed' },
      { type: 'publishing', snapshots },
      { type: 'published', cause: 'publication', snapshots },
    ]);
    const long = linesOf(dataDir).filter((line) => line.length > 100_000);
    expect(long.map((line) => (JSON.parse(line) as LedgerRecord).type)).toEqual([
      'fencing',
      'fencing',
      'fencing',
      'intent',
      'result',
      'publishing',
      'published',
    ]);
    expect(Math.max(...linesOf(dataDir).map(({ length }) => length))).toBeLessThan(lineBytesMax);
    ledger.checkpoint();
    expect(verifyLedger({ folder: join(dataDir, 'ledger') })).toMatchObject({ ok: true, size: 5001 * 4 + 11 });
    const read = readLedger(dataDir);
    expect(stateOf(read)).toEqual(stateOf(ledger));
    expect(read.head()).toEqual(ledger.head());
    expect(read.histories.of(request)?.fence?.entries).toBe(12_003);
    expect(read.histories.of(requestId(5000))?.targets.get('mirror')?.result).toBe('purged');
    expect(read.bound.publications.of('persons', '20005000T120000.000Z')?.stands).toBe('a'.repeat(64));
    expect(readLedgerHead(join(dataDir, 'ledger'))?.entries).toBe(5001 * 4 + 11);
  });

  it('that was begun before a kill is begun again, and counts once', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append([...life.slice(0, 2), fencingOf(12_001)]);
    const [kept = ''] = readFileSync(entriesOf(dataDir), 'utf8').split(/(?<=\n)(?=.*"seq":4)/);
    rmSync(entriesOf(dataDir));
    appendFileSync(entriesOf(dataDir), kept);
    const again = openLedger(dataDir, tickingClock());
    expect(again.size()).toBe(4);
    again.append([fencingOf(2), fenced]);
    expect(stateOf(readLedger(dataDir))).toEqual({
      fence: 4,
      digest: again.bound.fences.get(request),
      begun: undefined,
      epoch: 1,
    });
    again.checkpoint();
    expect(verifyLedger({ folder: join(dataDir, 'ledger') }).ok).toBe(true);
  });
});

test('a line that is longer than 1 MiB is damaged, whatever it holds', async () => {
  const dataDir = temporaryFolder();
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(life.slice(0, 2));
  ledger.checkpoint();
  const entry = { ...fencingOf(30_000), seq: 2, at: '2026-11-20T12:00:05.000Z' };
  appendFileSync(entriesOf(dataDir), `${canonicalJson(entry)}\n`);
  expect(readLedgerHead(join(dataDir, 'ledger'))?.entries).toBe(null);
  expect(() => readLedger(dataDir)).toThrow(/line 3 of .*entries\.jsonl is damaged \(too_long\)/);
  expect(verifyLedger({ folder: join(dataDir, 'ledger') })).toMatchObject({
    ok: false,
    problems: [{ where: 'entry 2', problem: 'too_long' }],
  });
});

describe('after an append that failed', () => {
  it('the ledger is what is on disk, and takes the next record', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 2));
    const before = { ...stateOf(ledger), ...ledger.head() };
    // The file is opened and written in many pieces; then the disk is full.
    const disk = breakDisk((step) => step === 5);
    expect(() => ledger.append([fencingOf(12_001), fenced])).toThrow('the disk is full (ENOSPC)');
    disk.mend();
    expect({ ...stateOf(ledger), ...ledger.head() }).toEqual(before);
    ledger.append([fencingOf(2), fenced]);
    expect({ ...stateOf(ledger), ...ledger.head() }).toEqual({
      ...stateOf(readLedger(dataDir)),
      ...readLedger(dataDir).head(),
    });
    ledger.checkpoint();
    expect(verifyLedger({ folder: join(dataDir, 'ledger') }).ok).toBe(true);
  });
});
