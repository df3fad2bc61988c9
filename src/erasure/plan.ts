import { isoTime } from '../core/clock.ts';
import { unionOf } from '../contract/identity.ts';
import { isFile, isUpstream, spellTarget, type FileTarget } from '../ledger/target.ts';
import { countExpiredDeletions } from '../mirror/feeds.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listOpenTargets } from '../mirror/erasure-targets.ts';
import type { Box } from './request/box.ts';
import { boxOf, type ErasureParts } from './request/request-record.ts';
import { planFence, type Decision } from './fence/fence-plan.ts';
import { scopeSubjects, type FileHit, type Scope } from './find/scope.ts';

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

/** A published file that is to be rewritten once, for all requests: rows that are about them or name them. */
type PlannedFile = { file: string; rows: number };

/** All that a reconciliation will do to erase people, before the service has answered anything. */
export type ErasurePlan = {
  requests: PlannedRequest[];
  files: PlannedFile[];
  /** What of the published files was searched for new requests. */
  searched: { files: number; rows: number; bytes: number };
  /** What is left to do at the service, by target. */
  upstream: Record<string, number>;
  /** Deletions that leave the feeds: they have been there long enough. */
  feedExpires: number;
};

/** A plan, and what has to be known to apply it: who the new requests are about, and where they were found. */
export type PlannedErasure = {
  plan: ErasurePlan;
  waiting: { request: ErasureRequest; box: Box; scope: Scope; decision: Decision }[];
};

/** Where the feeds of deletions begin. */
export function feedBegin({ settings, clock }: Pick<ErasureParts, 'settings' | 'clock'>): string {
  return isoTime(clock.now() - settings.erasure.feedRetentionDays * 86_400_000);
}

/** The target that a published file is. */
export function fileTarget({
  dataset,
  snapshotId,
  name,
}: Pick<FileHit, 'dataset' | 'snapshotId' | 'name'>): FileTarget {
  return { kind: 'file', dataset, snapshotId, name };
}

/** Works out what a reconciliation would do now. Changes nothing; asks the service, where there is one, who is meant. */
export async function planErasure(
  parts: Omit<ErasureParts, 'ledger'>,
  only?: ReadonlySet<string>,
): Promise<PlannedErasure> {
  const { db, settings } = parts;
  const open = listRequests(db, 'open').filter(({ id }) => only?.has(id) ?? true);
  const unfenced = open.filter(({ fencedAt }) => fencedAt === null);
  const boxes = new Map(unfenced.flatMap(({ id }) => pairOf(id, boxOf(parts, id))));
  const subjects = unfenced.flatMap(({ id, scopedAt }) => {
    const box = boxes.get(id);
    const shown = scopedAt === null ? null : (box?.shown ?? []);
    return box ? [{ id, given: box.given, known: box.identity, shown }] : [];
  });
  const { scopes, searched } = await scopeSubjects({ ...parts, dataDir: settings.dataDir }, subjects);
  const candidates = unfenced.flatMap((request) => {
    const scope = scopes.get(request.id);
    const box = boxes.get(request.id);
    return scope && box ? [{ request, scope, box }] : [];
  });
  const decisions = planFence(
    candidates.map(({ request, scope }) => ({
      id: request.id,
      state: request.state,
      isApproved: request.approvedAt !== null,
      // One that was fenced before goes on, even where nothing is left of its subject.
      isFound: scope.isFound || request.generation > 1 || (scope.isAsked ? false : null),
      isShared: scope.isShared,
      meant: scope.meant,
      persons: scope.persons,
    })),
    settings.erasure.maxBatch,
  );
  const waiting = candidates.flatMap((candidate, index) => {
    const decision = decisions[index];
    return decision ? [{ ...candidate, decision }] : [];
  });
  const files = new Map<string, number>();
  const count = (target: FileTarget, rows: number): void => {
    const file = spellTarget(target);
    files.set(file, (files.get(file) ?? 0) + rows);
  };
  for (const { scope, decision } of waiting)
    if (decision.decision === 'fence') for (const hit of scope.files) count(fileTarget(hit), hit.rows);
  const upstream: Record<string, number> = {};
  for (const { requestId, target, rows } of listOpenTargets(db)) {
    if (only && !only.has(requestId)) continue;
    if (isFile(target)) count(target, rows ?? 0);
    if (isUpstream(target)) upstream[target] = (upstream[target] ?? 0) + 1;
  }
  const isGoing = open.filter(({ fencedAt }) => fencedAt !== null);
  return {
    waiting,
    plan: {
      requests: [
        ...waiting.map(({ request, scope, decision }): PlannedRequest => ({
          id: request.id,
          generation: request.generation,
          decision: decision.decision,
          reason: 'reason' in decision ? decision.reason : null,
          persons: scope.persons,
          distinctIds: scope.identity.distinct_id.length,
          recordings: scope.recordings,
          quarantined: scope.quarantined.length,
          files: scope.files.length,
        })),
        ...isGoing.map(
          ({ id, generation, certifiedAt, persons, distinctIds, recordings }): PlannedRequest => ({
            id,
            generation,
            decision: certifiedAt === null ? 'continue' : 'seal',
            reason: null,
            persons: persons ?? 0,
            distinctIds: distinctIds ?? 0,
            recordings: recordings ?? 0,
            quarantined: 0,
            files: 0,
          }),
        ),
      ],
      files: [...files]
        .map(([file, rows]) => ({ file, rows }))
        .toSorted((a, b) => (a.file < b.file ? -1 : 1)),
      searched,
      upstream,
      feedExpires: countExpiredDeletions(db, feedBegin(parts)),
    },
  };
}

/** All that the requests with these boxes are known by. */
export function unionOfBoxes(boxes: readonly Box[]): ReturnType<typeof unionOf> {
  return unionOf(boxes.map(({ identity }) => identity));
}

function pairOf<T>(id: string, value: T | undefined): [string, T][] {
  return value === undefined ? [] : [[id, value]];
}
