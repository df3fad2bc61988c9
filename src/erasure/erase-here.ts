import {
  isFile,
  isUpstream,
  spellTarget,
  type FileTarget,
  type FixedTarget,
  type TargetName,
} from '../ledger/target.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { purgeDeleted } from '../mirror/purge.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { listTargets, renewTarget, type ErasureTarget } from '../mirror/erasure-targets.ts';
import { locateIdentity } from '../snapshot/locate.ts';
import { placeOf, publishedFilesIn } from '../snapshot/published-files.ts';
import { rewriteSnapshot } from '../snapshot/rewrite.ts';
import { leftOutOf, type Box } from './request/box.ts';
import { boxOf, updateRequest, type ErasureParts } from './request/request-record.ts';
import { concerns } from './find/closure.ts';
import { fileTarget, unionOfBoxes } from './plan.ts';
import { listPersonalFiles } from './find/personal-files.ts';
import { isPersonal } from '../snapshot/subject-rows.ts';
import { runScan } from './scan/run-scan.ts';
import { callAttention, intend, settle, type RequestRef } from './request/target-journal.ts';

/** A fenced request that is not proved gone from here yet. */
type Open = RequestRef & { box: Box; targets: ErasureTarget[] };

/** What was done here. Rows of files are those taken out. */
export type LocalResult = { filesRewritten: number; rowsRemoved: number; verified: number; residue: number };

// What a search after a rewrite still finds was seen together with the subject for the first time; histories are short.
const rewriteRoundsMax = 3;

/**
 * Takes everybody who is fenced out of all that this program has written, and proves it: each touched file is rewritten
 * once, the mirror is purged once, for all requests together; then no file of any generation may hold them, and a scan by
 * another process must find nothing. Asks the service for nothing.
 */
export async function eraseLocally(parts: ErasureParts): Promise<LocalResult> {
  const result: LocalResult = { filesRewritten: 0, rowsRemoved: 0, verified: 0, residue: 0 };
  if (openRequests(parts).length === 0) return result;
  const rewritten = new Set<string>();
  for (let round = 1; round <= rewriteRoundsMax; round += 1) {
    await rewriteFiles(parts, result, rewritten);
    if (await isGoneFromFiles(parts)) break;
  }
  await purge(parts, openRequests(parts));
  await verify(parts, openRequests(parts), result, rewritten);
  return result;
}

/** Searches every published file once more; a file that still holds somebody becomes a target of the request. */
async function isGoneFromFiles(parts: ErasureParts): Promise<boolean> {
  const { db, settings, clock, signal } = parts;
  const open = openRequests(parts);
  const { parts: found } = await locateIdentity(
    publishedFilesIn(settings.dataDir),
    unionOfBoxes(open.map(({ box }) => box)),
    {
      signal,
    },
  );
  const at = isoTime(clock.now());
  db.transaction(() => {
    for (const part of found)
      for (const { id, box } of open) {
        const rows = part.found.filter((row) => concerns(box.identity, row)).length;
        if (rows > 0) renewTarget(db, id, fileTarget(part), rows, at);
      }
  }).immediate();
  return found.length === 0;
}

function openRequests(parts: ErasureParts): Open[] {
  return listRequests(parts.db, 'open').flatMap(({ id, generation, fencedAt, verifiedAt }) => {
    if (fencedAt === null || verifiedAt !== null) return [];
    const box = boxOf(parts, id);
    return box ? [{ id, generation, box, targets: listTargets(parts.db, id) }] : [];
  });
}

/** Whether a request has a target that is not reached yet. */
function lacks({ targets }: Open, target: FixedTarget): boolean {
  return targets.some((other) => other.target === target && other.status !== 'done');
}

/** A published snapshot whose files are targets that are not reached yet, and the requests of each file. */
type OpenSnapshot = {
  dataset: FileTarget['dataset'];
  snapshotId: string;
  files: Map<TargetName, { target: FileTarget; requests: Open[] }>;
};

function openSnapshots(open: readonly Open[]): OpenSnapshot[] {
  const snapshots = new Map<string, OpenSnapshot>();
  const listed = open.flatMap((request) =>
    request.targets.flatMap(({ target, status }) =>
      status !== 'done' && isFile(target) ? [{ request, target, name: spellTarget(target) }] : [],
    ),
  );
  for (const { request, target, name } of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { dataset, snapshotId } = target;
    if (!isPersonal(dataset)) throw new Error('a target in files that hold nobody');
    const key = `${dataset}/${snapshotId}`;
    const snapshot = snapshots.get(key) ?? { dataset, snapshotId, files: new Map() };
    snapshots.set(key, snapshot);
    const file = snapshot.files.get(name) ?? { target, requests: [] };
    snapshot.files.set(name, file);
    file.requests.push(request);
  }
  return [...snapshots.values()];
}

async function rewriteFiles(
  parts: ErasureParts,
  result: LocalResult,
  rewrittenPlaces: Set<string>,
): Promise<void> {
  const { settings, ledger, signal } = parts;
  const open = openRequests(parts);
  const { dataDir } = settings;
  for (const { dataset, snapshotId, files: byName } of openSnapshots(open)) {
    const files = [...byName.values()];
    for (const { target, requests } of files) intend(parts, requests, target);
    const rewritten = await rewriteSnapshot(
      publishedFilesIn(dataDir),
      dataset,
      snapshotId,
      files.map(({ target }) => target.name),
      unionOfBoxes(files.flatMap(({ requests }) => requests.map(({ box }) => box))),
      { epoch: ledger.epoch(), signal },
    );
    for (const { target, requests } of files) {
      const file = rewritten.find(({ name }) => target.name === name);
      // Retired meanwhile, or rewritten before a kill: its old name is in no manifest, and its file was removed.
      if (!file) {
        settle(parts, requests, target, { result: 'file_gone', assurance: 'observed' });
        continue;
      }
      const { rowsBefore, rowsRemoved } = file;
      settle(parts, requests, target, {
        result: 'rewritten',
        assurance: 'verified',
        rowsBefore,
        rowsRemoved,
      });
      rewrittenPlaces.add(placeOf({ dataset, snapshotId, name: file.newName }));
      result.filesRewritten += 1;
      result.rowsRemoved += rowsRemoved;
    }
  }
}

async function purge(parts: ErasureParts, open: readonly Open[]): Promise<void> {
  const { db, clock, signal } = parts;
  const forMirror = open.filter((request) => lacks(request, 'mirror'));
  const forRest = open.filter((request) => lacks(request, 'aux'));
  if (forRest.length > 0) intend(parts, forRest, 'aux');
  if (forMirror.length === 0) return;
  intend(parts, forMirror, 'mirror');
  if (await purgeDeleted(db, clock, signal)) return;
  for (const request of forMirror) callAttention(parts, request, 'mirror', 'reader_holds_wal');
}

async function verify(
  parts: ErasureParts,
  open: readonly Open[],
  result: LocalResult,
  rewritten: ReadonlySet<string>,
): Promise<void> {
  const { db, ledger, settings, clock, signal, scan = runScan } = parts;
  const ready = open.filter(({ targets }) =>
    targets.every(({ target, status }) => isUpstream(target) || status === 'done' || status === 'intended'),
  );
  if (ready.length === 0) return;
  const subjects = ready.map(({ id, box: { identity, values } }) => ({ request: id, identity, values }));
  const { dataDir } = settings;
  const passedOver = untouchedFiles(dataDir, ready, rewritten);
  const report = await scan(
    { dataDir, phase: 'verify', subjects, fence: false, extraPaths: [], passedOver },
    { signal },
  );
  if (report.unreadable.length > 0)
    throw new AppError(`the scan could not read ${report.unreadable.length} files, so nothing is proved`, {
      code: 'storage',
      hint: 'run `analytics-mirror doctor` to see which, mend them, and reconcile again',
    });
  const controlled = controlledRequests(parts);
  for (const request of ready) {
    const { id, generation, box } = request;
    const found = report.subjects.find((subject) => subject.request === id);
    if (!found) throw new Error('a scan that left a subject out');
    ledger.append([
      {
        type: 'scan',
        requests: [id],
        phase: 'verify',
        files: report.files,
        bytes: report.bytes,
        needles: found.needles - found.shared,
        hits: found.hits,
        passed_over: passedOver.length,
        ...leftOutOf(box),
      },
    ]);
    if (found.hits > 0) {
      result.residue += 1;
      callAttention(parts, request, 'mirror', 'residue_found');
    } else {
      // Without a control that found the values, that none is found is weaker than it looks.
      const assurance = controlled.has(id) ? 'verified' : 'observed';
      for (const target of ['mirror', 'aux'] as const)
        if (lacks(request, target)) settle(parts, [request], target, { result: 'purged', assurance });
      ledger.append([{ type: 'locally_verified', request: id, generation }]);
      result.verified += 1;
    }
    db.transaction(() =>
      updateRequest(db, id, found.hits > 0 ? {} : { verifiedAt: isoTime(clock.now()) }),
    ).immediate();
  }
}

/**
 * The published files that the scan may pass over, so that its cost follows the files touched: the search has just found
 * nobody in them, and nothing was written to them. None after a kill, when nobody knows any more which were touched.
 */
function untouchedFiles(dataDir: string, ready: readonly Open[], rewritten: ReadonlySet<string>): string[] {
  const targets = new Set(
    ready.flatMap((request) =>
      request.targets.filter(({ result }) => result === 'rewritten').map(({ target }) => target),
    ),
  );
  if (targets.size > rewritten.size) return [];
  return listPersonalFiles(dataDir).filter((place) => !rewritten.has(place));
}

/** The requests whose values a scan before the purge has found. */
function controlledRequests({ ledger }: ErasureParts): ReadonlySet<string> {
  const controlled = new Set<string>();
  for (const entry of ledger.entries())
    if (entry.type === 'scan' && entry.phase === 'control' && entry.hits > 0)
      for (const request of entry.requests) controlled.add(request);
  return controlled;
}
