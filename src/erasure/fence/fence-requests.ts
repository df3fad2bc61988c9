import { isoTime } from '../../core/clock.ts';
import { identifiersIn, partsOf, unionOf } from '../../contract/identity.ts';
import { macCipher } from '../../core/secret-key.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { FixedTarget } from '../../ledger/target.ts';
import { noteTakenEntries, updateRequest } from '../../mirror/erasure-requests.ts';
import { listDestinations } from '../../mirror/destinations.ts';
import { addTarget, renewTarget, statusOf } from '../../mirror/erasure-targets.ts';
import type { Database } from '../../mirror/database.ts';
import { fenceIdentifiers, setEpoch, standingFence } from '../../mirror/fence.ts';
import { longTransaction } from '../../mirror/long-transaction.ts';
import { markPurgeOwed } from '../../mirror/purge.ts';
import { endPassesThatName, prepareEraseRows, releaseQuarantined, trimRecordings } from '../../mirror/remove-rows.ts';
import { makeRestoreKey } from '../../mirror/restore-key.ts';
import { placeOf } from '../../snapshot/published-files.ts';
import { closingBox, type Box, type OpenedBox } from '../request/box.ts';
import { bindKeys } from '../bound/compare.ts';
import { askForTime, askPatiently } from '../ask-service.ts';
import { settle } from '../request/target-journal.ts';
import { catchUp } from '../projection.ts';
import { eachTogether, record } from '../request/together.ts';
import { scanForSubjects } from '../scan/run-scan.ts';
import { countsOf, recordDecisions, type DecidedRequest } from './decide.ts';

/** What became of requests that were not fenced yet. */
export type FenceResult = { fenced: number; refused: number; rowsErased: number };

/**
 * Carries out what was decided about requests that are not fenced yet. For those that go on: first the scan has to find
 * the subjects, since it has to find nothing of them afterwards. Then, in one transaction, the fence grows, the ledger
 * records it before that counts, and the subjects' rows leave the mirror: no sync can bring them back from there.
 */
export async function fenceRequests(
  context: JobContext,
  decided: readonly DecidedRequest[],
  searchedFiles: number,
): Promise<FenceResult> {
  const { refused } = await recordDecisions(context, decided, searchedFiles);
  const going = decided.filter(({ decision }) => decision.decision === 'fence').map(withWholeBox);
  if (going.length === 0) return { fenced: 0, refused, rowsErased: 0 };
  await controlScan(context, going);
  // Who comes back is told by the service's time of this moment: the machine's own may be wrong.
  const { service } = context;
  if (service && service.heard?.() === undefined) await askPatiently(context, service, askForTime);
  return { fenced: going.length, refused, rowsErased: await raiseFence(context, going) };
}

/**
 * Adds all that was found of the subject to the box of a request. Nobody has asked for what the service has deleted by itself: its
 * distinct ids may be those of a customer who visits again, so they are neither fenced nor searched for.
 */
function withWholeBox(decided: DecidedRequest): DecidedRequest {
  const { request, box, scope } = decided;
  const identity = unionOf([box.identity, scope.identity]);
  const leftOut = (box.leftOut ?? 0) + scope.leftOut;
  const whole: Box = {
    ...box,
    identity: request.origin === 'upstream' ? { ...identity, distinct_id: [] } : identity,
    values: [...new Set([...box.values, ...scope.values])],
    ...(leftOut > 0 ? { leftOut } : {}),
    memberships: [...box.memberships, ...scope.memberships],
    // Whom it was held for once, and is no more, nobody has left anything. A request that was fenced before is not held.
    ...(request.generation === 1 ? { sharedWith: scope.sharedWith } : {}),
    createdAt: scope.createdAt ?? box.createdAt,
  };
  return { ...decided, box: whole };
}

/**
 * The scan has to find each subject before the purge: otherwise it proves little that it finds nothing afterwards. Nobody wants such
 * a proof of what the service deleted by itself: its certificate says `observed`.
 */
async function controlScan(context: JobContext, going: readonly DecidedRequest[]): Promise<void> {
  const asked = going.filter(({ request: { origin } }) => origin !== 'upstream');
  if (asked.length === 0) return;
  const subjects = asked.map(({ request: { id }, box }) => ({ id, box }));
  const mustRead = new Set(asked.flatMap(({ scope }) => scope.files.map(placeOf)));
  const open = ({ box }: { box: Box }): OpenedBox => ({ details: box, identities: () => [box.identity] });
  const { found } = await scanForSubjects(context, 'control', subjects, open, { files: mustRead, mirror: true });
  record(context, ...found.map((each) => each.record));
}

/** One person can have a million identifiers: other work goes on between the steps of the transaction. */
async function raiseFence(context: JobContext, going: readonly DecidedRequest[]): Promise<number> {
  const { db, clock, settings, service, signal } = context;
  const ledger = context.ledger();
  const epoch = ledger.epoch() + 1;
  const at = isoTime(clock.now());
  const heard = service?.heard?.();
  const servedAt = heard === undefined ? null : isoTime(heard.dateMs);
  const hasBucket = settings.export.destination !== null || listDestinations(db).length > 0;
  const elsewhere = [...(hasBucket ? (['bucket'] as const) : []), ...(context.remote ? (['copies'] as const) : [])];
  let rows = 0;
  await longTransaction(db, signal, async (pause) => {
    catchUp(db, ledger);
    for (const { request, box } of going)
      for (const part of partsOf(box.identity, identifiersAtOnce)) {
        fenceIdentifiers(db, { id: request.id, epoch, at, servedAt }, identifiersIn(part));
        await pause();
      }
    const restoreKey = makeRestoreKey(db, settings.dataDir);
    bindKeys(context);
    for (const records of fencingRecords(db, going, { epoch, servedAt, restoreKey })) {
      ledger.append(records);
      await pause();
    }
    const eraseRows = prepareEraseRows(db);
    for (const { request, scope, box } of going) {
      const { id } = request;
      for (const part of partsOf(box.identity, identifiersAtOnce)) {
        rows += eraseRows(id, part, at);
        await pause();
      }
      releaseQuarantined(db, scope.quarantined);
      endPassesThatName(db, box.identity, at);
      for (const target of elsewhere) addTarget(db, id, target, null, at);
      for (const { rows: expected, ...file } of scope.files)
        renewTarget(db, id, { kind: 'file', ...file }, expected, at);
      const closing = closingBox(context, id, box);
      let closed = closing.next();
      for (; closed.done !== true; closed = closing.next()) await pause();
      updateRequest(db, id, { epoch, ...countsOf(scope), box: closed.value });
      await pause();
    }
    const distinctIds = unionOf(going.map(({ box }) => box.identity)).distinct_id;
    for (const _changed of trimRecordings(db, distinctIds, at)) await pause();
    // A copy that is made before the file is purged owes it too, whatever the ledger says by then.
    markPurgeOwed(db);
    noteTakenEntries(db, ledger);
    setEpoch(db, epoch);
  });
  await eachTogether(context, going, (own, { request: { id, generation } }) =>
    record(own, { type: 'fenced', request: id, generation, epoch }),
  );
  const deleted = going.flatMap(({ request }) => (request.origin === 'upstream' ? [request] : []));
  await eachTogether(context, deleted, settleDeletedUpstream);
  return rows;
}

/** So many take some hundredths of a second. */
const identifiersAtOnce = 1000;
/** So many entries of the fence are one write to the ledger: a third of a second. */
const fencedAtOnce = 5_000;

/** What is about to be fenced, some at a time: one person can have a million identifiers, and an earlier generation others. */
function* fencingRecords(
  db: Database,
  going: readonly DecidedRequest[],
  { epoch, servedAt, restoreKey }: { epoch: number; servedAt: string | null; restoreKey: Buffer },
): Generator<LedgerRecord[]> {
  const encrypt = macCipher(restoreKey, 'encrypt');
  let records: LedgerRecord[] = [];
  let entries = 0;
  for (const { request } of going) {
    const served = servedAt === null ? {} : { served_at: servedAt };
    const about = { request: request.id, generation: request.generation, epoch, ...served };
    let continued: { continued?: true } = {};
    for (const fence of standingFence(db, request.id)) {
      const encrypted = fence.map(({ kind, mac }) => ({ kind, encrypted: encrypt(mac) }));
      records.push({ type: 'fencing', ...about, fence: encrypted, ...continued });
      continued = { continued: true };
      entries += fence.length;
      if (entries < fencedAtOnce) continue;
      yield records;
      records = [];
      entries = 0;
    }
  }
  yield records;
}

/** The service did not have the person before the request was made, so it is not asked for the person again. */
function settleDeletedUpstream(context: JobContext, request: DecidedRequest['request']): void {
  const isOpen = (target: FixedTarget): boolean => statusOf(context.db, request.id, target) !== 'done';
  if (isOpen('upstream.person'))
    settle(context, [request], 'upstream.person', { result: 'already_absent', assurance: 'observed' });
  if (isOpen('upstream.events'))
    settle(context, [request], 'upstream.events', { result: 'not_verifiable', assurance: 'not_verifiable' });
}
