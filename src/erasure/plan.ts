import { AppError } from '../core/errors.ts';
import { isoTime } from '../core/clock.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import type { JobContext } from '../job/job-context.ts';
import { isFile, isUpstream, spellTarget, type Target } from '../ledger/target.ts';
import { fullsWithDeltas } from '../snapshot/current-snapshots.ts';
import { currentIds } from '../snapshot/manifest.ts';
import { beforeOpenRequests, countExpiredDeletions, publishedBefore, type FeedEnd } from '../mirror/feeds.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { agreedMs } from '../mirror/service-clock.ts';
import { listOpenTargets } from '../mirror/erasure-targets.ts';
import { countsOf, decideRequests, type DecidedRequest } from './fence/decide.ts';
import type { Decision } from './fence/fence-plan.ts';
import type { ScopeContext } from './find/scope.ts';

/** What is to be done with a request now, and what it is expected to find. Holds no personal data. */
type PlannedRequest = {
  id: string;
  generation: number;
  decision: Decision['decision'] | 'continue' | 'seal';
  reason: string | null;
  persons: number;
  distinctIds: number;
  recordings: number;
  quarantined: number;
  files: number;
};

/** All that a reconciliation will do to erase people, before the service has answered anything. */
export type ErasurePlan = {
  requests: PlannedRequest[];
  /** Deletions at the service that are erased later, together. */
  collected: number;
  /** The published files that are to be rewritten once, for all requests: rows that are about them or name them. */
  files: { file: string; rows: number }[];
  /** What of the published files was searched for new requests. */
  searched: { files: number; rows: number; bytes: number };
  /** What is left to do at the service, by target. */
  upstream: Record<string, number>;
  /** Deletions that leave the feeds: they have been there long enough. */
  feedExpires: number;
};

/** A plan, and what has to be known to apply it: the subjects of the new requests, and where they were found. */
export type PlannedErasure = { plan: ErasurePlan; decided: DecidedRequest[] };

/**
 * Where the feeds of deletions begin (ISO 8601 UTC), by the newest time at which the service's clock agreed with this machine's. Before
 * such a time nothing leaves them.
 */
export function feedBegin({ db, settings }: Pick<JobContext, 'db' | 'settings'>): string {
  return isoTime(agreedMs(db) - settings.erasure.feedRetentionDays * 86_400_000);
}

/**
 * Which deletions leave the feeds now. Those that a published delta may need stay: without them, readers would have rows again
 * that have left since its full snapshot. So do those that have been published everywhere for less than the time that they stay: exports
 * may have failed since, or a bucket been away. So do those from the first of a request on that is open, or whose certificate says
 * that they are listed. Where nothing is published, nobody reads them.
 */
export function feedEnd(context: Pick<JobContext, 'db' | 'settings' | 'published'>): FeedEnd {
  const before = feedBegin(context);
  return { before, through: readThrough(context, before) };
}

/** The number of the newest deletion that nobody needs. Where what is published cannot be read, all may be needed. */
function readThrough({ db, published }: Pick<JobContext, 'db' | 'published'>, before: string): number {
  try {
    const current = published.readCurrent();
    const isPublished = publishedDatasets.some((dataset) => currentIds(current, dataset).length > 0);
    const read = isPublished ? publishedBefore(db, before) : Infinity;
    return Math.min(
      read,
      beforeOpenRequests(db, isoTime(agreedMs(db))),
      ...fullsWithDeltas(published).map(({ seq }) => seq),
    );
  } catch (error) {
    if (error instanceof AppError) return 0;
    throw error;
  }
}

/**
 * The requests among these that are carried out only together with others: nobody has asked for what the service deleted by itself, and
 * an erasure writes files of all generations anew. They are due once the first of them has waited for `collectMs`, by this machine's
 * clock, or with any request of a person that goes on now. A clock that was set back does not make them wait for longer.
 */
export function collected(requests: readonly ErasureRequest[], nowMs: number, collectMs: number): ErasureRequest[] {
  const unasked = requests.filter(
    ({ origin, state, fencedAt }) => origin === 'upstream' && state !== 'held' && fencedAt === null,
  );
  const isDue =
    unasked.some(({ receivedAt }) => Math.abs(nowMs - Date.parse(receivedAt)) >= collectMs) ||
    requests.some(
      ({ origin, state, fencedAt, verifiedAt, waitsFor }) =>
        (origin !== 'upstream' && fencedAt === null && state !== 'held' && waitsFor === null) ||
        (fencedAt !== null && verifiedAt === null),
    );
  return isDue ? [] : unasked;
}

/**
 * The requests among these that this run leaves: the collected, and deletions that the service has not confirmed once more. One that was
 * opened again is asked for no more, and waits for nobody.
 */
export function leftForLater(
  { clock, settings }: Pick<JobContext, 'clock' | 'settings'>,
  requests: readonly ErasureRequest[],
): Set<ErasureRequest> {
  const unconfirmed = requests.filter(
    ({ origin, generation, fencedAt, waitsFor }) =>
      origin === 'upstream' && generation === 1 && fencedAt === null && waitsFor !== null,
  );
  return new Set([...unconfirmed, ...collected(requests, clock.now(), settings.deletions.collectHours * 3_600_000)]);
}

/** Works out what a reconciliation would do now. Changes nothing; asks the service, where there is one, for the subjects. */
export async function planErasure(
  context: ScopeContext & Pick<JobContext, 'clock' | 'published'>,
  only?: ReadonlySet<string>,
): Promise<PlannedErasure> {
  const { db } = context;
  const requests = listRequests(db, 'open');
  const later = leftForLater(context, requests);
  const now = requests.filter((request) => !later.has(request) && (only?.has(request.id) ?? true));
  const fenced = now.filter(({ fencedAt }) => fencedAt !== null);
  const { decided, searched } = await decideRequests(context, new Set(now.map(({ id }) => id)));
  const open = listOpenTargets(db).filter(({ requestId }) => only?.has(requestId) ?? true);
  return {
    decided,
    plan: {
      requests: [...decided.map(plannedNew), ...fenced.map(plannedFenced)],
      collected: later.size,
      files: countFiles([
        ...decided.flatMap(({ scope, decision }) =>
          decision.decision === 'fence'
            ? scope.files.map(({ rows, ...file }) => ({ target: { kind: 'file', ...file } as const, rows }))
            : [],
        ),
        ...open,
      ]),
      searched,
      upstream: countUpstream(open),
      feedExpires: countExpiredDeletions(db, feedEnd(context)),
    },
  };
}

function plannedNew({ request, scope, decision }: DecidedRequest): PlannedRequest {
  return {
    id: request.id,
    generation: request.generation,
    decision: decision.decision,
    reason: 'reason' in decision ? decision.reason : null,
    ...countsOf(scope),
    quarantined: scope.quarantined.length,
    files: scope.files.length,
  };
}

function plannedFenced({ id, generation, certifiedAt, reason, ...found }: ErasureRequest): PlannedRequest {
  return {
    id,
    generation,
    decision: certifiedAt === null ? 'continue' : 'seal',
    reason,
    persons: found.persons ?? 0,
    distinctIds: found.distinctIds ?? 0,
    recordings: found.recordings ?? 0,
    quarantined: 0,
    files: 0,
  };
}

/** The published files among targets, by name, and how many rows each is expected to hold. */
function countFiles(targets: readonly { target: Target; rows: number | null }[]): ErasurePlan['files'] {
  const files = new Map<string, number>();
  for (const { target, rows } of targets) {
    if (!isFile(target)) continue;
    const file = spellTarget(target);
    files.set(file, (files.get(file) ?? 0) + (rows ?? 0));
  }
  return [...files].map(([file, rows]) => ({ file, rows })).toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

function countUpstream(targets: readonly { target: Target }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { target } of targets) if (isUpstream(target)) counts[target] = (counts[target] ?? 0) + 1;
  return counts;
}
