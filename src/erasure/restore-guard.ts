import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { identityOf } from '../contract/identity.ts';
import { readLedger, type LedgerReader } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import type { Database } from '../mirror/database.ts';
import { endPassesThatName, prepareEraseRows } from '../mirror/erase-rows.ts';
import { readEpoch, setEpoch } from '../mirror/erasure-epoch.ts';
import { findRequest, insertRequest, type NewRequest } from '../mirror/erasure-requests.ts';
import { addFence, type FenceEntry } from '../mirror/fence.ts';
import { findFencedIdentifiers, type FencedIdentifier } from '../mirror/fenced-rows.ts';
import { findPersons, findQuarantined, findRecordings } from '../mirror/sightings.ts';
import { closeBox, newBox, type Box } from './box.ts';
import { updateRequest, type ErasureParts } from './erasure-parts.ts';

/**
 * Refuses to go on with a mirror that knows of fewer erasures than the ledger: an older copy of it, which may hold people
 * who were erased since. Throws `storage` then, and also for a ledger that knows of fewer than the mirror.
 */
export function refuseRestored(db: Database, dataDir: string): void {
  const mirrored = readEpoch(db);
  const recorded = readLedger(dataDir).epoch();
  if (mirrored < recorded)
    throw new AppError(
      `mirror.db is an older copy: it knows of ${mirrored} rounds of erasures, the ledger of ${recorded}`,
      {
        code: 'storage',
        hint: 'run `analytics-mirror reconcile` first: it erases again whomever the copy has brought back',
      },
    );
  refuseOlderLedger(mirrored, recorded);
}

function refuseOlderLedger(mirrored: number, recorded: number): void {
  // One ahead is a kill between fencing and the ledger's word of it, which the next reconciliation makes good.
  if (mirrored > recorded + 1)
    throw new AppError(
      `the ledger is older than mirror.db: it knows of ${recorded} rounds of erasures, the mirror of ${mirrored}`,
      { code: 'storage', hint: 'restore ledger/ from the same backup as mirror.db, or from a newer one' },
    );
}

/** What an older copy of the mirror had brought back. */
export type ReplayResult = { requests: number; rows: number };

/**
 * Brings an older copy of the mirror up to the ledger: the fences raised since are raised again from their MACs, every
 * stored identifier is held against them, and whoever is found leaves the mirror and is erased again, as the next
 * generation of the same request. Null where the mirror is no older copy.
 */
export function replayErasures(parts: ErasureParts): ReplayResult | null {
  const { db, ledger, clock } = parts;
  const from = readEpoch(db);
  const to = ledger.epoch();
  refuseOlderLedger(from, to);
  if (from >= to) return null;
  const later = laterFences(ledger, from);
  const at = isoTime(clock.now());
  const records: LedgerRecord[] = [];
  const result: ReplayResult = { requests: 0, rows: 0 };
  db.transaction(() => {
    for (const [id, { epoch, entries, fencedAt }] of later)
      addFence(db, { id, epoch, at: fencedAt }, entries);
    const eraseRows = prepareEraseRows(db);
    for (const [id, found] of Map.groupBy(findFencedIdentifiers(db), ({ requestId }) => requestId)) {
      const box = boxFrom(db, found);
      const generation = (later.get(id)?.generation ?? 1) + 1;
      const quarantined = findQuarantined(db, box.identity);
      result.requests += 1;
      result.rows += eraseRows(id, box.identity, quarantined, at);
      endPassesThatName(db, box.identity, at);
      reopen(parts, { id, generation, at, box, deleteEvents: later.get(id)?.deleteEvents ?? true });
      records.push({ type: 'reopened', request: id, generation, reason: 'restored' });
    }
    setEpoch(db, to);
    // Within the transaction: what the ledger cannot take is not done.
    ledger.append([...records, { type: 'replayed', epoch_from: from, epoch_to: to, rows: result.rows }]);
  }).immediate();
  return result;
}

type LaterFence = {
  generation: number;
  epoch: number;
  entries: FenceEntry[];
  fencedAt: string;
  deleteEvents: boolean;
};

/** The fences that the ledger says stand and that are later than an epoch, by request. */
function laterFences(ledger: LedgerReader, epoch: number): Map<string, LaterFence> {
  const intended = new Map<string, LaterFence>();
  const later = new Map<string, LaterFence>();
  const keepsEvents = new Set<string>();
  const lifted = new Set<string>();
  for (const entry of ledger.entries()) {
    if (entry.type === 'received' && !entry.delete_events) keepsEvents.add(entry.request);
    if (entry.type === 'fencing')
      intended.set(`${entry.request} ${entry.epoch}`, {
        generation: entry.generation,
        epoch: entry.epoch,
        entries: entry.fence,
        fencedAt: entry.at,
        deleteEvents: !keepsEvents.has(entry.request),
      });
    const fence = entry.type === 'fenced' ? intended.get(`${entry.request} ${entry.epoch}`) : undefined;
    if (entry.type === 'fenced' && fence && entry.epoch > epoch) later.set(entry.request, fence);
    if (entry.type === 'readmitted') lifted.add(entry.request);
    if (entry.type === 'fenced') lifted.delete(entry.request);
  }
  for (const request of lifted) later.delete(request);
  return later;
}

/** A box made of what the mirror still has of somebody whose identifiers were found in it. */
function boxFrom(db: Database, found: readonly FencedIdentifier[]): Box {
  const identity = identityOf((kind) =>
    found.filter((identifier) => identifier.kind === kind).map(({ value }) => value),
  );
  const rows = [...findPersons(db, identity), ...findRecordings(db, identity)];
  return {
    ...newBox([], identity),
    values: [...new Set(rows.flatMap(({ values }) => values))],
  };
}

function reopen(
  { db, settings }: ErasureParts,
  request: Pick<NewRequest, 'id' | 'generation' | 'deleteEvents'> & { at: string; box: Box },
): void {
  const { id, generation, deleteEvents, at } = request;
  const box = closeBox(settings.dataDir, id, request.box);
  const dueAt = isoTime(Date.parse(at) + settings.erasure.dueDays * 86_400_000);
  if (!findRequest(db, id))
    insertRequest(db, {
      id,
      generation,
      origin: 'restore',
      basis: 'restored_backup',
      authorisedBy: null,
      deleteEvents,
      receivedAt: at,
      dueAt,
      box,
    });
  // It was approved, if it had to be, when it was fenced the first time.
  updateRequest(db, id, { generation, box, approvedAt: at, scopedAt: at, heldAt: null, cancelledAt: null });
}
