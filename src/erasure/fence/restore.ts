import { isoTime } from '../../core/clock.ts';
import { identityOf, type IdentifierKind, type Identity, type Sighting } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import type { Database } from '../../mirror/database.ts';
import {
  findRequest,
  insertRequest,
  listRequests,
  hasBox,
  type ErasureRequest,
  updateRequest,
  withoutWords,
} from '../../mirror/erasure-requests.ts';
import { listTargets, renewTarget, restartTarget } from '../../mirror/erasure-targets.ts';
import { renumberFeeds } from '../../mirror/feeds.ts';
import { readEpoch, setEpoch, type FencedIdentifier } from '../../mirror/fence.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined, trimRecordings } from '../../mirror/remove-rows.ts';
import { findPersons, findRecordings } from '../../mirror/sightings.ts';
import { listStandingManifests, unrecordedTargets, type Difference } from '../bound/differences.ts';
import { isFenceBehind, type Found } from '../bound/find-unbound.ts';
import { countParts } from '../bound/compare.ts';
import { nameAgain, reopenRequest } from '../request/reopen.ts';
import { isFile, isHere, readTarget, spellTarget } from '../../ledger/target.ts';
import { endRequests } from './restore-guard.ts';

/** What an older copy of the mirror or of published files had brought back. */
export type ReplayResult = {
  requests: number;
  rows: number;
  /** Requests whose identifiers are lost: they are ended, and have to be added again. */
  lost: string[];
};

/**
 * Brings mirror and published files in line with the ledger, by what was found not to be. Where the mirror is an older copy or
 * its fence differed, every stored identifier is compared with the fences. A person that is found, here or in the files,
 * leaves the mirror and is erased again, as the next generation of the same request. So is a request that is not as far as
 * the ledger says, or farther; but one whose person was let in again is ended. The manifests that stand are recorded then.
 * Returns null where nobody was erased again.
 */
export function replayErasures(context: JobContext, { differences, inMirror, inFiles }: Found): ReplayResult | null {
  const { db, clock } = context;
  const ledger = context.ledger();
  const from = readEpoch(db);
  const to = Math.max(from, ledger.epoch());
  endRequests(context);
  const { histories } = ledger;
  const ended = listRequests(db, 'open').flatMap((request) =>
    isOlderThan(db, request, histories.of(request.id)) ? [request.id] : [],
  );
  const isFenceMended = isFenceBehind(db, ledger);
  const mended = mendedRecords(context, differences);
  if (!isFenceMended && ended.length + inFiles.length + mended.length === 0) return null;
  const at = isoTime(clock.now());
  const result: ReplayResult = { requests: 0, rows: 0, lost: [] };
  db.transaction(() => {
    const eraseRows = prepareEraseRows(db);
    const found = [...inMirror, ...inFiles];
    const named = nameFound(db, found);
    const records: LedgerRecord[] = [];
    const differing = differences.flatMap(({ part, id }) => (part === 'requests' ? [id] : []));
    for (const id of new Set([...differing, ...named.keys(), ...ended])) {
      const history = histories.of(id);
      const own = named.get(id);
      if (history?.isReadmitted === true) {
        records.push(...endReadmitted(context, history));
        continue;
      }
      if (history && !own && !ended.includes(id)) {
        if (history.fence === null) {
          records.push(...takeBack(context, history));
          continue;
        }
        if (!hasBox(db, id)) {
          const end = endLost(context, history);
          if (end.length > 1) result.lost.push(id);
          records.push(...end);
          continue;
        }
      }
      if (own) {
        result.rows += eraseRows(id, own.identity, [], at);
        insertUnknown(context, id, history);
        nameAgain(context, id, own.identity, own);
      }
      restartUpstream(context, id, history, from < to || ended.includes(id));
      // A file with an intent needs a result, even if only that the file is gone.
      for (const target of (history?.intended ?? []).map(readTarget))
        if (isFile(target)) renewTarget(db, id, target, null, at);
      result.requests += 1;
      const generation = nextGeneration(history);
      const record = reopenRequest(context, { id, generation }, 'restored');
      if (generation !== history?.generation) records.push(record);
    }
    // Once for all requests: each of these reads a whole table.
    const allFound = identityOfFound(found);
    releaseQuarantined(db, findQuarantined(db, allFound));
    for (const _some of trimRecordings(db, allFound.distinct_id, at));
    endPassesThatName(db, allFound, at);
    setEpoch(db, to);
    if (differences.some(({ part, isDamaged }) => part === 'snapshots' && isDamaged !== true))
      renumberFeeds(db, numbersPassedOver);
    // Within the transaction: if the ledger cannot be written, nothing is done.
    ledger.append([
      ...records,
      ...(isFenceMended || result.requests > 0
        ? [{ type: 'replayed', epoch_from: from, epoch_to: to, rows: result.rows } as const]
        : []),
    ]);
  }).immediate();
  // Not before that has happened: what was found would not be looked for again after a kill.
  ledger.append(mended);
  return from < to || result.requests + result.lost.length > 0 ? result : null;
}

/**
 * So many numbers of the feeds are left out where published files are older copies: it is not known any more how far they were
 * given. No mirror has so many changes between two copies.
 */
const numbersPassedOver = 1_000_000_000;

/**
 * Takes a request back to where the ledger has it, which never fenced it. Without its box it cannot go on, and is ended:
 * returns the record of that.
 */
function takeBack({ db, clock }: JobContext, { request: id, generation, sealed }: RequestHistory): LedgerRecord[] {
  if (!findRequest(db, id) || sealed) return [];
  const isLost = !hasBox(db, id);
  updateRequest(db, id, {
    generation,
    fencedAt: null,
    verifiedAt: null,
    certifiedAt: null,
    sealedAt: null,
    refusedAt: null,
    cancelledAt: isLost ? isoTime(clock.now()) : null,
  });
  return isLost ? [{ type: 'cancelled', request: id, generation }] : [];
}

/**
 * Ends a request whose person was let in again: that is the last word about it. An older mirror may have it open, with its
 * identifiers: these are destroyed, so that nobody is erased by them.
 */
function endReadmitted(context: JobContext, history: RequestHistory): LedgerRecord[] {
  const end = endLost(context, history);
  return history.sealed === null ? end : [];
}

/** Ends a fenced request whose identifiers are lost: nothing more can be proved of it. The fence stays. */
function endLost({ db, clock }: JobContext, { request: id, generation, certified }: RequestHistory): LedgerRecord[] {
  const at = isoTime(clock.now());
  const isCertified = certified.some((issued) => issued.generation === generation);
  const request = findRequest(db, id);
  if (request) {
    const ends = { fencedAt: at, certifiedAt: isCertified ? at : null, sealedAt: at };
    updateRequest(db, id, { generation, refusedAt: null, cancelledAt: null, ...ends, ...withoutWords(request) });
  }
  return [
    ...(isCertified
      ? []
      : [{ type: 'attention', request: id, generation, target: 'mirror', reason: 'life_exceeded' } as const]),
    { type: 'sealed', request: id, generation },
  ];
}

/** The records of what was mended: the manifests that stand from now on, and how many differences each part had. */
function mendedRecords(
  { published, ledger: openLedger }: JobContext,
  differences: readonly Difference[],
): LedgerRecord[] {
  const { publications, differing } = openLedger().bound;
  const cause: 'adoption' | 'repair' = publications.isBegun() ? 'repair' : 'adoption';
  const items = new Map(countParts(differences));
  const stand = listStandingManifests(published);
  const known = new Set(stand.map(({ dataset, snapshot_id: id }) => `${dataset}/${id}`));
  const gone = [...publications.all()].flatMap(({ dataset, snapshotId }) =>
    known.has(`${dataset}/${snapshotId}`) ? [] : [{ dataset, snapshot_id: snapshotId, manifest: null }],
  );
  return [
    ...(cause === 'adoption' || items.has('snapshots')
      ? [{ type: 'published' as const, cause, snapshots: [...stand, ...gone] }]
      : []),
    ...[...new Set([...items.keys(), ...differing.keys()])].map((part): LedgerRecord => ({
      type: 'mended',
      part,
      items: items.get(part) ?? 0,
    })),
  ];
}

/** Whether a request is less far in the mirror than in the ledger. One step behind, as after a kill, does not count. */
function isOlderThan(db: Database, request: ErasureRequest, history: RequestHistory | undefined): boolean {
  if (!history) return false;
  const isBehind = request.generation < history.generation;
  const isFenced = request.fencedAt !== null;
  const { fence, generation, certified, sealed } = history;
  if (!isFenced && fence !== null && request.generation <= generation) return isBehind || fence.epoch > readEpoch(db);
  const isOpen = request.verifiedAt === null || listTargets(db, request.id).some(({ status }) => status !== 'done');
  const isUncertified = request.certifiedAt === null;
  const isCertified = certified.some((issued) => issued.generation === generation);
  return isBehind || (isUncertified && (sealed !== null || (isCertified && isOpen)));
}

/** The generation in which a request is done again. One that was begun and killed before its fence goes on. */
function nextGeneration(history: RequestHistory | undefined): number {
  const { generation = 1, fence = { generation: 1 } } = history ?? {};
  return generation > (fence?.generation ?? 0) ? generation : generation + 1;
}

/**
 * Service and bucket may have changed since an older copy of the mirror was made, so every open target there begins again. So does
 * one of which the ledger does not have the result or the intent. A mirror that is not older keeps what it waits for, as do
 * events whose person is gone: nobody will ask for their deletion again.
 */
function restartUpstream(
  { db, clock }: JobContext,
  id: string,
  history: RequestHistory | undefined,
  isOlder: boolean,
): void {
  const unrecorded = history ? unrecordedTargets(db, history) : [];
  const targets = listTargets(db, id);
  const isGone = targets.some(({ target, result }) => target === 'upstream.person' && result !== null);
  for (const { target, status } of targets) {
    const isOpen = isOlder && status !== 'done' && !(target === 'upstream.events' && isGone);
    if (!isHere(target) && (isOpen || unrecorded.includes(spellTarget(target))))
      restartTarget(db, id, target, isoTime(clock.now()));
  }
}

/** The identifiers that were found of each request, with the texts that the mirror still has of the subject. */
function nameFound(
  db: Database,
  found: readonly FencedIdentifier[],
): Map<string, { identity: Identity; values: string[]; leftOut: number }> {
  const rows = new Map<string, Sighting[]>();
  const learn = (kind: IdentifierKind, value: string | null, row: Sighting): void => {
    if (value === null) return;
    const known = rows.get(`${kind} ${value}`);
    if (known) known.push(row);
    else rows.set(`${kind} ${value}`, [row]);
  };
  // Once for all requests: each of the two reads a whole table.
  const allFound = identityOfFound(found);
  for (const row of findPersons(db, allFound)) {
    learn('person_uuid', row.person_uuid, row);
    learn('person_id', row.person_id, row);
    for (const distinctId of row.distinct_ids) learn('distinct_id', distinctId, row);
  }
  for (const row of findRecordings(db, allFound)) {
    learn('recording_id', row.recording_id, row);
    learn('person_uuid', row.person_uuid, row);
    learn('distinct_id', row.recordedUnder, row);
  }
  return new Map(
    [...Map.groupBy(found, ({ requestId }) => requestId)].map(([requestId, own]) => {
      const about = [...new Set(own.flatMap(({ kind, value }) => rows.get(`${kind} ${value}`) ?? []))];
      const leftOut = about.reduce((sum, { left_out: left = 0 }) => sum + left, 0);
      const values = [...new Set(about.flatMap((row) => row.values))];
      return [requestId, { identity: identityOfFound(own), values, leftOut }];
    }),
  );
}

function identityOfFound(found: readonly FencedIdentifier[]): Identity {
  const values = (kind: IdentifierKind): string[] =>
    found.filter((identifier) => identifier.kind === kind).map(({ value }) => value);
  return identityOf((kind) => [...new Set(values(kind))]);
}

/** Adds a request again that the mirror does not know. */
function insertUnknown({ db, clock }: JobContext, id: string, history: RequestHistory | undefined): void {
  if (findRequest(db, id)) return;
  const at = isoTime(clock.now());
  insertRequest(db, {
    id,
    generation: 1,
    // The ledger has of who asked for it an HMAC only.
    authorisedBy: null,
    ...(history
      ? { origin: history.origin, basis: history.basis, receivedAt: history.received.at, dueAt: history.dueAt }
      : { origin: 'restore', basis: 'restored_backup', receivedAt: at, dueAt: at }),
    deleteEvents: history?.deletesEvents !== false,
    box: null,
  });
}
