import { provedGone } from './acknowledge.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { unionOf, withoutReusableId, type Sighting } from '../contract/identity.ts';
import type { JobContext } from '../job/job-context.ts';
import { isFile, isHere, spellTarget, type FileTarget, type FixedTarget } from '../ledger/target.ts';
import { listRequests, type ErasureRequest, updateRequest } from '../mirror/erasure-requests.ts';
import { hasBox } from '../mirror/request-box.ts';
import { listTargets, renewTarget, type ErasureTarget } from '../mirror/erasure-targets.ts';
import { purgeDeleted } from '../mirror/purge.ts';
import { prepareNames } from '../mirror/quarantine.ts';
import { placeOf } from '../snapshot/published-files.ts';
import { isPersonal, searchIdentity, type FoundPart } from '../snapshot/subject-rows.ts';
import { rewriteSnapshot, type Twins } from '../snapshot/rewrite.ts';
import { fenceRequests, type FenceResult } from './fence/fence-requests.ts';
import { identifiersOf } from './find/closure.ts';
import type { PlannedErasure } from './plan.ts';
import { boxOpener, openSubjects, type Subject } from './request/box.ts';
import { callAttention, intend, settle } from './request/target-journal.ts';
import { eachTogether, record, together } from './request/together.ts';
import { scanForSubjects, type ScanReach, type SubjectScan } from './scan/run-scan.ts';
import { transact } from '../mirror/transact.ts';

/** What was done here. Rows of files are those taken out. */
export type LocalResult = { filesRewritten: number; rowsRemoved: number; verified: number; residue: number };

/** Fences, erases and proves gone here all that was planned, as far as it can go now. A kill at any point is safe. */
export async function eraseHere(
  context: JobContext,
  { decided, plan }: PlannedErasure,
): Promise<FenceResult & LocalResult> {
  // What was found of the subjects is not kept beyond this: one person can have a million recordings.
  const fenced = await fenceRequests(context, decided.splice(0), plan.searched.files);
  if (fenced.fenced > 0) context.ledger().checkpoint();
  return { ...fenced, ...(await eraseFenced(context)) };
}

/** A fenced request that is not proved gone from here yet, and its targets. */
type FencedRequest = Pick<ErasureRequest, 'id' | 'generation' | 'origin'> & { targets: ErasureTarget[] };
type FencedSubject = Subject & Pick<FencedRequest, 'targets'>;

// A search after a rewrite can see a subject together with something for the first time; histories are short.
const rewriteRoundsMax = 3;

/**
 * Takes all fenced subjects out of all that this program has written, and proves it: each touched file is rewritten once,
 * the mirror is purged once, for all requests together; then no file of any generation may hold them, and a scan by another
 * process must find nothing. Asks the service for nothing.
 */
async function eraseFenced(context: JobContext): Promise<LocalResult> {
  const result: LocalResult = { filesRewritten: 0, rowsRemoved: 0, verified: 0, residue: 0 };
  if (fencedRequests(context).length === 0) return result;
  const rewritten = new Set<string>();
  for (let round = 1; round <= rewriteRoundsMax; round += 1) {
    await rewriteFiles(context, result, rewritten);
    if (await isGoneFromFiles(context)) break;
  }
  await purge(context, fencedRequests(context));
  await verify(context, fencedRequests(context), result, rewritten);
  return result;
}

function isFenced({ fencedAt, verifiedAt }: Pick<ErasureRequest, 'fencedAt' | 'verifiedAt'>): boolean {
  return fencedAt !== null && verifiedAt === null;
}

/** Those whose identifiers are not destroyed. */
function fencedRequests({ db }: JobContext): FencedRequest[] {
  return listRequests(db, 'open')
    .filter((request) => isFenced(request) && hasBox(db, request.id))
    .map(({ id, generation, origin }) => ({ id, generation, origin, targets: listTargets(db, id) }));
}

async function fencedSubjects(context: JobContext): Promise<FencedSubject[]> {
  const subjects = await openSubjects(context, isFenced);
  return subjects.map((subject) => Object.assign(subject, { targets: listTargets(context.db, subject.id) }));
}

/** Searches every published file once more; a file that still holds a subject becomes a target of its request. */
async function isGoneFromFiles(context: JobContext): Promise<boolean> {
  const { db, published, clock, signal } = context;
  const subjects = (await fencedSubjects(context)).map(({ id, identity: known }) => {
    const identity = withoutReusableId(known);
    return { id, identity, isNamed: prepareNames(identity) };
  });
  const found: Map<string, Map<FoundPart, number>> = new Map(subjects.map(({ id }) => [id, new Map()]));
  let isGone = true;
  const onRow = (part: FoundPart, row: Sighting): void => {
    isGone = false;
    const identifiers = identifiersOf(row);
    for (const { id, isNamed } of subjects)
      if (isNamed(identifiers)) found.get(id)?.set(part, (found.get(id)?.get(part) ?? 0) + 1);
  };
  await searchIdentity(published, unionOf(subjects.map(({ identity }) => identity)), { signal, onRow });
  const at = isoTime(clock.now());
  transact(db, () => {
    for (const [id, parts] of found) {
      for (const [{ dataset, snapshotId, name }, rows] of parts)
        renewTarget(db, id, { kind: 'file', dataset, snapshotId, name }, rows, at);
      updateRequest(db, id, {});
    }
  });
  return isGone;
}

/** Whether a request has a target that is not reached yet. */
function lacks({ targets }: FencedRequest, target: FixedTarget): boolean {
  return targets.some((other) => other.target === target && other.status !== 'done');
}

/** A published snapshot with files that are open targets, by name, and the subjects of each file. */
type OpenSnapshot = {
  dataset: FileTarget['dataset'];
  snapshotId: string;
  files: Map<string, { target: FileTarget; subjects: FencedSubject[] }>;
};

function openSnapshots(subjects: readonly FencedSubject[]): Iterable<OpenSnapshot> {
  const listed = subjects.flatMap((subject) =>
    subject.targets.flatMap(({ target, status }) =>
      status !== 'done' && isFile(target) ? [{ subject, target, name: spellTarget(target) }] : [],
    ),
  );
  const snapshots = new Map<string, OpenSnapshot>();
  for (const { subject, target, name } of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { dataset, snapshotId } = target;
    if (!isPersonal(dataset)) throw new Error('a target in a dataset without persons');
    const snapshot = snapshots.get(`${dataset}/${snapshotId}`) ?? { dataset, snapshotId, files: new Map() };
    snapshots.set(`${dataset}/${snapshotId}`, snapshot);
    const file = snapshot.files.get(name) ?? { target, subjects: [] };
    snapshot.files.set(name, file);
    file.subjects.push(subject);
  }
  return snapshots.values();
}

/** Rewrites every file that is an open target, and adds the places of the new files to `rewritten`. */
async function rewriteFiles(context: JobContext, result: LocalResult, rewritten: Set<string>): Promise<void> {
  const { published, ledger, signal } = context;
  const twinsOf = new Map<string, Twins>();
  for (const { dataset, snapshotId, files } of openSnapshots(await fencedSubjects(context))) {
    together(context, (own) => files.forEach(({ target, subjects }) => intend(own, subjects, target)));
    const erased = new Set([...files.values()].flatMap(({ subjects }) => subjects));
    const key = [dataset, ...Array.from(erased, ({ id }) => id)].join(' ');
    const twins = twinsOf.get(key) ?? new Map();
    twinsOf.set(key, twins);
    const placeIn = new Map([...erased].map((subject, place) => [subject, place]));
    const parts = await rewriteSnapshot(
      published,
      dataset,
      snapshotId,
      [...files.values()].map(({ target }) => target.name),
      [...erased].map(({ identity }) => identity),
      { epoch: ledger().epoch(), signal, twins },
    );
    together(context, (own) => {
      for (const { target, subjects } of files.values()) {
        const part = parts.find(({ name }) => name === target.name);
        // Retired meanwhile, or rewritten before a kill: no manifest names it any more, and the file was removed.
        if (!part) {
          settle(own, subjects, target, { result: 'file_gone', assurance: 'observed' });
          continue;
        }
        const { rowsBefore, rowsRemoved, rowsRemovedOf, newName: name } = part;
        // Subjects with as many rows share a record: their certificates say how many are their own, and no others.
        const byRows = Map.groupBy(subjects, (subject) => rowsRemovedOf[placeIn.get(subject) ?? -1] ?? 0);
        for (const [removed, alike] of byRows) {
          const rows = { rows_before: rowsBefore, rows_removed: removed };
          settle(own, alike, target, { result: 'rewritten', assurance: 'verified', ...rows });
        }
        rewritten.add(placeOf({ dataset, snapshotId, name }));
        result.filesRewritten += 1;
        result.rowsRemoved += rowsRemoved;
      }
    });
  }
}

async function purge(context: JobContext, subjects: readonly FencedRequest[]): Promise<void> {
  const { db, clock, signal } = context;
  const forMirror = subjects.filter((subject) => lacks(subject, 'mirror'));
  const forRest = subjects.filter((subject) => lacks(subject, 'aux'));
  if (forRest.length > 0) intend(context, forRest, 'aux');
  if (forMirror.length === 0) return;
  intend(context, forMirror, 'mirror');
  if (await purgeDeleted(db, clock, signal)) return;
  together(context, (own) => forMirror.forEach((subject) => callAttention(own, subject, 'mirror', 'reader_holds_wal')));
}

/**
 * Has a scan look for those whose targets are reached. Where nobody has asked for any of the deletions, the mirror and the published
 * files are passed over: rows have been removed there, searched for, and what they left is overwritten. If something is found, or
 * cannot be read, all is read after all.
 */
async function verify(
  context: JobContext,
  subjects: readonly FencedRequest[],
  result: LocalResult,
  rewritten: ReadonlySet<string>,
): Promise<void> {
  const ready = subjects.filter(({ targets }) =>
    targets.every(({ target, status }) => !isHere(target) || status === 'done' || status === 'intended'),
  );
  if (ready.length === 0) return;
  const open = boxOpener(context);
  const scan = (reach: ScanReach): Promise<SubjectScan<FencedRequest>> =>
    scanForSubjects(context, 'verify', ready, ({ id }) => open(id), reach);
  const isUnasked = ready.every(({ origin }) => origin === 'upstream');
  const short = isUnasked ? await scan({ files: new Set(), mirror: false }) : undefined;
  const isClean = short?.unreadable.length === 0 && short.found.every(({ hits }) => hits === 0);
  const whole = { files: filesToRead(ready, rewritten), mirror: true };
  const { found, unreadable } = short && isClean ? short : await scan(whole);
  if (unreadable.length > 0)
    throw new AppError(
      `the scan of the data folder could not read everything, so nothing is proved: ${listOf(unreadable)}`,
      {
        code: 'storage',
        hint: 'take files of other programs out of the data folder. `analytics-mirror doctor` checks the files of this program. Then reconcile again',
      },
    );
  for (const judged of await eachTogether(context, found, judge)) result[judged] += 1;
}

/** Records what a scan has found of a subject, and what follows of it. */
function judge(
  context: JobContext,
  { subject, hits, record: scanned }: SubjectScan<FencedRequest>['found'][number],
): 'residue' | 'verified' {
  record(context, scanned);
  if (hits > 0) {
    callAttention(context, subject, 'mirror', 'residue_found');
    return 'residue';
  }
  // Without a control that found the texts, it is weaker evidence that none is found.
  const assurance = context.ledger().histories.of(subject.id)?.isControlled === true ? 'verified' : 'observed';
  for (const target of ['mirror', 'aux'] as const)
    if (lacks(subject, target)) settle(context, [subject], target, { result: 'purged', assurance });
  record(context, provedGone(context, subject));
  return 'verified';
}

const namedMax = 5;

function listOf(unreadable: readonly { place: string; reason: string }[]): string {
  const named = unreadable.slice(0, namedMax).map(({ place, reason }) => `${place} (${reason})`);
  const left = unreadable.length - named.length;
  return [...named, ...(left > 0 ? [`and ${left} more`] : [])].join(', ');
}

/**
 * Which published files the scan reads, so that its cost follows the files touched: those that were rewritten. A search has just
 * found no subject in the others, and nothing was written to them. After a kill, nobody knows any more which were touched, and all
 * are read (null).
 */
function filesToRead(subjects: readonly FencedRequest[], rewritten: ReadonlySet<string>): ReadonlySet<string> | null {
  const targets = new Set(
    subjects.flatMap((subject) =>
      subject.targets.flatMap(({ target, result }) => (result === 'rewritten' ? [spellTarget(target)] : [])),
    ),
  );
  return targets.size <= rewritten.size ? rewritten : null;
}
