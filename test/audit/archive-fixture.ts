import { createHash } from 'node:crypto';
import type { fixedTargets } from '../../src/ledger/target.ts';
import { bases } from '../../src/ledger/vocabulary.ts';
import { writeFileSync } from 'node:fs';
import type { Clock } from '../../src/core/clock.ts';
import { compactTree, leafHash } from '../../src/ledger/merkle.ts';
import { applyEntry } from '../../src/erasure/projection.ts';
import { derivedText, writeCertificateFile } from '../../src/erasure/proof/certificate-file.ts';
import { collectHistories } from '../../src/ledger/histories.ts';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { entryLine, type LedgerEntry } from '../../src/ledger/entry.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { type LedgerRecord } from '../../src/ledger/record.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';
import { changeRequest, noteTakenEntries, updateRequest } from '../../src/mirror/erasure-requests.ts';
import { changeTarget } from '../../src/mirror/erasure-targets.ts';
import { addFence, setEpoch } from '../../src/mirror/fence.ts';
import { signingKey } from '../../src/ledger/signing-key.ts';
import { issuing, plantKeys, requestId } from '../ledger/ledger-fixture.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** When the first request of an archive is received. */
const archiveStartMs = Date.UTC(2026, 6, 6, 9, 30);
/** When a report on an archive is made. */
export const archiveNowMs = Date.UTC(2026, 10, 20, 12);

/** What becomes of the nth request of an archive. */
type Fate = 'sealed' | 'late' | 'already_absent' | 'awaiting' | 'held' | 'refused' | 'attention' | 'overdue';

function fateOf(n: number, count: number): Fate {
  if (n === 33) return 'overdue';
  if (n % 29 === 7) return 'refused';
  if (n % 41 === 11) return 'late';
  if (n % 7 === 3) return 'already_absent';
  const left = count - n;
  if (left === 2) return 'held';
  if (left === 5) return 'attention';
  if (left > 1 && left < 9) return 'awaiting';
  return 'sealed';
}

export type Archive = { dataDir: string; db: Database; settings: typeof issuing & { dataDir: string } };

/** A number from 0 to 1 that looks random and is always the same. */
function share(n: number, salt: string): number {
  return createHash('sha256').update(`${salt} ${n}`).digest().readUInt32BE() / 2 ** 32;
}

const hexOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * A data folder with so many requests of four and a half months, on its ledger and in its mirror, as the program would
 * have left them; always the same. The ledger is signed at its end.
 */
export function writeArchive(dataDir: string, count: number): Archive {
  let nowMs = archiveStartMs;
  const clock: Clock = { now: () => nowMs, sleep: () => Promise.reject(new Error('nothing should sleep')) };
  const db = openDatabase(dataDir, clock);
  plantKeys(dataDir);
  const { name: ledgerOrigin } = signingKey(dataDir, []);
  const settings = { dataDir, ...issuing };
  const histories = collectHistories();
  const lines: string[] = [];
  const tree = compactTree();
  // All of it is written at once: on disk for good after each record takes minutes.
  const ledger = {
    append: (records: readonly LedgerRecord[]): void => {
      for (const record of records) {
        const line = entryLine(record, lines.length, new Date(nowMs).toISOString()).toString();
        const entry = JSON.parse(line) as LedgerEntry;
        lines.push(line);
        tree.append(leafHash(Buffer.from(line)));
        histories.take(entry);
        applyEntry(db, entry, histories);
      }
      noteTakenEntries(db, { requestEntries: () => tree.size(), rootOfFirst: () => tree.rootHash().toString('hex') });
    },
  };
  const events: { atMs: number; act: () => void }[] = [];
  const plan = (atMs: number, act: () => void): void => void events.push({ atMs, act });
  let epoch = 0;

  for (let n = 0; n < count; n += 1) {
    const id = requestId(n + 1);
    const about = { request: id, generation: 1 };
    const requests = [id];
    const fate = fateOf(n, count);
    const receivedMs = archiveStartMs + Math.floor(((n + share(n, 'at')) * 136 * dayMs) / Math.max(1, count));
    const dueMs = receivedMs + 30 * dayMs;
    const hereMs = receivedMs + Math.round((0.1 + 60 * share(n, 'here') ** 3) * hourMs);
    const slowMs = fate === 'late' ? 33 * dayMs : (1 + 9 * share(n, 'there')) * dayMs;
    const thereMs = hereMs + Math.round(slowMs);
    const files = [1, 2].map((part) => `snapshot:persons/20260701T040000.000Z/part-0000${part}.parquet` as const);
    const iso = (): string => new Date(nowMs).toISOString();
    const end = (
      target: (typeof fixedTargets)[number] | (typeof files)[number],
      result: Extract<LedgerRecord, { type: 'result' }>['result'],
      assurance: Extract<LedgerRecord, { type: 'result' }>['assurance'],
      rows?: number,
    ): LedgerRecord => ({
      type: 'result',
      requests,
      target,
      result,
      assurance,
      ...(rows === undefined ? {} : { rows_before: 5000, rows_removed: rows }),
    });
    plan(receivedMs, () => {
      const basis = bases[Math.floor(share(n, 'basis') * 3)] ?? 'other';
      ledger.append([
        {
          type: 'received',
          ...about,
          origin: 'manual',
          basis,
          subject: hexOf(`subject ${n}`),
          authorisation: hexOf(`authorisation ${n}`),
          delete_events: true,
          due_at: new Date(dueMs).toISOString(),
        },
        { type: 'scoped', ...about, persons: 1, distinct_ids: 2, recordings: 1, quarantined: 0, files: 2 },
        ...(fate === 'refused' ? [{ type: 'refused', ...about, reason: 'unknown_subject' } as const] : []),
        ...(fate === 'held' || fate === 'overdue'
          ? [{ type: 'held', ...about, reason: 'shared_identifier' } as const]
          : []),
      ]);
      if (fate !== 'refused') changeRequest(db, id, { box: Buffer.of() });
    });
    if (fate === 'refused' || fate === 'held' || fate === 'overdue') continue;
    plan(hereMs - 60_000, () => {
      epoch += 1;
      const fence = [
        { kind: 'person_uuid' as const, mac: hexOf(`uuid ${n}`) },
        { kind: 'distinct_id' as const, mac: hexOf(`distinct id ${n}`) },
      ];
      ledger.append([
        { type: 'scan', requests, phase: 'control', files: 41, bytes: 83_120_332, needles: 214, hits: 57 },
        { type: 'fencing', ...about, epoch, fence: fence.map(({ kind, mac }) => ({ kind, encrypted: mac })) },
        { type: 'fenced', ...about, epoch },
        ...[...files, 'mirror' as const, 'aux' as const].map((target): LedgerRecord => ({
          type: 'intent',
          requests,
          target,
        })),
      ]);
      addFence(db, { id, epoch, at: iso() }, fence);
      setEpoch(db, epoch);
      if (n % 17 === 4)
        db.prepare('UPDATE fence SET hits = 3, recreated = ?, last_hit_at = ? WHERE request_id = ?').run(
          n % 2,
          iso(),
          id,
        );
    });
    plan(hereMs, () => {
      ledger.append([
        ...files.map((file, part) => end(file, 'rewritten', 'verified', part + 1)),
        {
          type: 'scan',
          requests,
          phase: 'verify',
          files: 41,
          bytes: 83_004_118,
          needles: 214,
          hits: 0,
          passed_over: 3,
        },
        end('mirror', 'purged', 'verified'),
        end('aux', 'purged', 'verified'),
        { type: 'locally_verified', ...about },
        { type: 'intent', requests, target: 'upstream.person' },
        fate === 'already_absent'
          ? end('upstream.person', 'already_absent', 'observed')
          : end('upstream.person', 'deleted', 'observed'),
        end('upstream.recordings', 'not_deletable_via_api', 'not_verifiable', 0),
        end('upstream.playlists', 'not_applicable', 'observed'),
        ...(fate === 'attention'
          ? [{ type: 'attention', ...about, target: 'upstream.events', reason: 'events_unconfirmed' } as const]
          : [
              {
                type: 'awaiting_upstream',
                ...about,
                events_expected_by: new Date(thereMs - hourMs).toISOString(),
              } as const,
            ]),
      ]);
      if (fate === 'attention') return;
      changeTarget(db, id, 'upstream.events', { status: 'waiting' }, iso());
      updateRequest(db, id, {});
    });
    if (fate === 'attention' || fate === 'awaiting' || thereMs > archiveNowMs) continue;
    plan(thereMs, () => {
      ledger.append([
        n % 3 === 0
          ? end('upstream.events', 'confirmed', 'asserted_by_upstream')
          : end('upstream.events', 'not_verifiable', 'not_verifiable'),
      ]);
      const history = histories.of(id);
      const text = history && derivedText(settings, history, ledgerOrigin);
      if (text === undefined) throw new Error('a history that is not whole');
      // Written for good, too: the first ones are enough.
      const digest = n < 12 ? writeCertificateFile(dataDir, about, text, () => false) : hexOf(text);
      ledger.append([
        { type: 'certified', ...about, certificate: digest },
        { type: 'sealed', ...about },
      ]);
    });
  }
  db.transaction(() => {
    for (const { atMs, act } of events.toSorted((a, b) => a.atMs - b.atMs)) {
      if (atMs > archiveNowMs) continue;
      nowMs = atMs;
      act();
    }
  })();
  nowMs = archiveNowMs;
  writeFileSync(entriesPath(ledgerFolder(dataDir)), lines.map((line) => `${line}\n`).join(''));
  openLedger(dataDir, clock).checkpoint();
  return { dataDir, db, settings };
}
