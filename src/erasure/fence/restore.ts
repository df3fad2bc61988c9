import { isoTime } from '../../core/clock.ts';
import { identityOf, unionOf, type IdentifierKind, type Identity } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import type { Database } from '../../mirror/database.ts';
import {
  changeRequest,
  findRequest,
  insertRequest,
  listRequests,
  readBox,
  type ErasureRequest,
} from '../../mirror/erasure-requests.ts';
import { listTargets, renewTarget, restartTarget } from '../../mirror/erasure-targets.ts';
import { findFencedIdentifiers, readEpoch, setEpoch, type FencedIdentifier } from '../../mirror/fence.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined, trimRecordings } from '../../mirror/remove-rows.ts';
import { findPersons, findRecordings } from '../../mirror/sightings.ts';
import { boxOf, closeBox, newBox, type Box } from '../request/box.ts';
import type { BoundPart } from '../../ledger/vocabulary.ts';
import { listStandingManifests, type Difference } from '../bound/differences.ts';
import { updateRequest } from '../request/request-state.ts';
import { raiseFencesAgain } from '../bound/raise-fences.ts';
import { reopenRequest } from '../request/reopen.ts';
import { isFile, isUpstream, readTarget } from '../../ledger/target.ts';
import { endRequests, refuseOlderLedger } from './restore-guard.ts';

/** What an older copy of the mirror or of published files had brought back. */
export type ReplayResult = {
  requests: number;
  rows: number;
  /** Requests whose identifiers are lost: they are ended, and have to be added again. */
  lost: string[];
};

/** What was found not to be as the ledger says, and the erased persons that were found in published files. */
export type Found = { differences: readonly Difference[]; inFiles: readonly FencedIdentifier[] };

/**
 * Brings mirror and published files in line with the ledger. Where the mirror is an older copy, the fences raised since are
 * raised again from their MACs; where its fence differs, it is made as the ledger has it. Then every stored identifier is
 * compared with the fences. A person that is found, here or in the files, leaves the mirror and is erased again, as the next
 * generation of the same request. So is a request that is not as far as the ledger says, or farther. The manifests that stand
 * are recorded then. Returns null where there is nothing to do. Throws `storage` where the ledger is older than the mirror.
 */
export function replayErasures(context: JobContext, { differences, inFiles }: Found = noneFound): ReplayResult | null {
  const { db, clock } = context;
  const ledger = context.ledger();
  const from = readEpoch(db);
  const to = ledger.epoch();
  refuseOlderLedger(from, ledger);
  endRequests(context);
  const { histories } = ledger;
  const idsOf = (part: BoundPart): string[] => differences.flatMap((each) => (each.part === part ? [each.id] : []));
  const ended = listRequests(db, 'open').flatMap((request) =>
    isOlderThan(db, request, histories.of(request.id)) ? [request.id] : [],
  );
  // A kill can come after the fence was raised again.
  const isFenceBehind = from < to || ledger.bound.differing.has('fence');
  const mended = mendedRecords(context, differences);
  if (!isFenceBehind && ended.length + inFiles.length + mended.length === 0) return null;
  const at = isoTime(clock.now());
  const result: ReplayResult = { requests: 0, rows: 0, lost: [] };
  db.transaction(() => {
    if (isFenceBehind) raiseFencesAgain(db, ledger);
    const eraseRows = prepareEraseRows(db);
    const found = [...(isFenceBehind ? findFencedIdentifiers(db) : []), ...inFiles];
    const boxes = boxesFrom(db, found);
    const records: LedgerRecord[] = [];
    for (const id of new Set([...idsOf('requests'), ...boxes.keys(), ...ended])) {
      const history = histories.of(id);
      const box = boxes.get(id);
      if (history && !box && !ended.includes(id)) {
        if (history.fence === null) {
          records.push(...takeBack(context, history));
          continue;
        }
        if (readBox(db, id) === undefined) {
          const end = endLost(context, history);
          if (end.length > 1) result.lost.push(id);
          records.push(...end);
          continue;
        }
      }
      if (box) {
        result.rows += eraseRows(id, box.identity, [], at);
        putBox(context, id, box, history);
      }
      restartUpstream(context, id, at);
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
    trimRecordings(db, allFound.distinct_id, at);
    endPassesThatName(db, allFound, at);
    setEpoch(db, Math.max(from, to));
    // Within the transaction: if the ledger cannot be written, nothing is done.
    ledger.append([
      ...records,
      ...(isFenceBehind || result.requests > 0
        ? [{ type: 'replayed', epoch_from: from, epoch_to: Math.max(from, to), rows: result.rows } as const]
        : []),
      ...mended,
    ]);
  }).immediate();
  return isFenceBehind || result.requests + result.lost.length > 0 ? result : null;
}

const noneFound: Found = { differences: [], inFiles: [] };

/**
 * Takes a request back to where the ledger has it, which never fenced it. Without its box it cannot go on, and is ended:
 * returns the record of that.
 */
function takeBack({ db, clock }: JobContext, { request: id, generation, sealed }: RequestHistory): LedgerRecord[] {
  if (!findRequest(db, id) || sealed) return [];
  const isLost = readBox(db, id) === undefined;
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

/** Ends a fenced request whose identifiers are lost: nothing more can be proved of it. The fence stays. */
function endLost({ db, clock }: JobContext, { request: id, generation, certified }: RequestHistory): LedgerRecord[] {
  const at = isoTime(clock.now());
  const isCertified = certified.some((issued) => issued.generation === generation);
  if (findRequest(db, id))
    updateRequest(db, id, { generation, fencedAt: at, certifiedAt: isCertified ? at : null, sealedAt: at });
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
  const items = Map.groupBy(differences, ({ part }) => part);
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
      items: items.get(part)?.length ?? 0,
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

/** The service may have answered since the copy was made: every open target there begins again. */
function restartUpstream({ db }: Pick<JobContext, 'db'>, id: string, at: string): void {
  for (const { target, status } of listTargets(db, id))
    if (isUpstream(target) && status !== 'done') restartTarget(db, id, target, at);
}

/** A new box for each request whose identifiers were found, with the texts that the mirror still has of the subject. */
function boxesFrom(db: Database, found: readonly FencedIdentifier[]): Map<string, Box> {
  const texts = new Map<string, string[]>();
  const learn = (kind: IdentifierKind, value: string | null, values: readonly string[]): void => {
    if (value === null) return;
    const known = texts.get(`${kind} ${value}`);
    if (known) known.push(...values);
    else texts.set(`${kind} ${value}`, [...values]);
  };
  // Once for all requests: each of the two reads a whole table.
  const allFound = identityOfFound(found);
  for (const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds, values } of findPersons(db, allFound)) {
    learn('person_uuid', uuid, values);
    learn('person_id', id, values);
    for (const distinctId of distinctIds) learn('distinct_id', distinctId, values);
  }
  for (const { recording_id: id, person_uuid: uuid, recordedUnder, values } of findRecordings(db, allFound)) {
    learn('recording_id', id, values);
    learn('person_uuid', uuid, values);
    learn('distinct_id', recordedUnder, values);
  }
  return new Map(
    [...Map.groupBy(found, ({ requestId }) => requestId)].map(([requestId, own]) => {
      const values = own.flatMap(({ kind, value }) => texts.get(`${kind} ${value}`) ?? []);
      return [requestId, { ...newBox([], identityOfFound(own)), values: [...new Set(values)] }];
    }),
  );
}

function identityOfFound(found: readonly FencedIdentifier[]): Identity {
  const values = (kind: IdentifierKind): string[] =>
    found.filter((identifier) => identifier.kind === kind).map(({ value }) => value);
  return identityOf((kind) => [...new Set(values(kind))]);
}

/** Gives a request a box again, with what it knew and what was found. A request unknown here is added again. */
function putBox(context: JobContext, id: string, found: Box, history: RequestHistory | undefined): void {
  const { db, settings, clock } = context;
  const at = isoTime(clock.now());
  const known = boxOf(context, id) ?? found;
  const box = closeBox(settings.dataDir, id, {
    ...known,
    identity: unionOf([known.identity, found.identity]),
    values: [...new Set([...known.values, ...found.values])],
  });
  if (findRequest(db, id)) {
    changeRequest(db, id, { box });
    return;
  }
  insertRequest(db, {
    id,
    generation: 1,
    // The ledger has of who asked for it an HMAC only.
    authorisedBy: null,
    ...(history
      ? { origin: history.origin, basis: history.basis, receivedAt: history.received.at, dueAt: history.dueAt }
      : { origin: 'restore', basis: 'restored_backup', receivedAt: at, dueAt: at }),
    deleteEvents: history?.deletesEvents !== false,
    box,
  });
  changeRequest(db, id, { reopenedAt: at });
}
