import { z } from 'zod';
import type { RequestReason, WaitReason } from '../ledger/vocabulary.ts';
import type { Database } from '../mirror/database.ts';
import {
  countRequests,
  isOverdue,
  listRequests,
  needsOperator,
  type ErasureRequest,
} from '../mirror/erasure-requests.ts';
import { listOpenTargets } from '../mirror/erasure-targets.ts';
import { countFence } from '../mirror/fence.ts';
import { countListedAgain } from '../mirror/listed-again.ts';
import { newestSuccess } from '../mirror/runs.ts';
import type { ErasureReport, OpenRequest } from './overview.ts';

const requestsMax = 12;

/** Reads the state of all erasure requests at a time (ISO 8601 UTC), and the most urgent of the open ones. */
export function gatherRequests(db: Database, now: string): { erasure: ErasureReport; openRequests: OpenRequest[] } {
  const requests = listRequests(db, 'open');
  const access = listRequests(db, 'open', 'access');
  const open = requests.filter(({ state }) => state !== 'certified');
  const awaited = requests.filter(({ certifiedAt }) => certifiedAt === null);
  const times = (of: 'dueAt' | 'eventsExpectedBy'): string[] =>
    awaited.flatMap((request) => request[of] ?? []).toSorted();
  const erasure = {
    states: countRequests(db),
    open: open.length,
    overdue: awaited.filter((request) => isOverdue(request, now)).length,
    nextDueAt: times('dueAt').at(0) ?? null,
    eventsExpectedBy: times('eventsExpectedBy').at(-1) ?? null,
    fence: countFence(db),
    access: {
      open: access.length,
      overdue: access.filter((request) => isOverdue(request, now)).length,
      nextDueAt: access.map(({ dueAt }) => dueAt).toSorted()[0] ?? null,
    },
    listedAgain: { letIn: letInLast(db), out: countListedAgain(db) },
  };
  return { erasure, openRequests: mostUrgent(db, open, now) };
}

/** How many rows that were listed again the newest reconciliation has let in. */
function letInLast(db: Database): number {
  const { letIn = 0 } = z
    .looseObject({ letIn: z.int().optional() })
    .parse(JSON.parse(newestSuccess(db, 'reconcile')?.counts ?? '{}'));
  return letIn;
}

function mostUrgent(db: Database, open: readonly ErasureRequest[], now: string): OpenRequest[] {
  const targets = Map.groupBy(listOpenTargets(db), ({ requestId }) => requestId);
  const urgency = (request: ErasureRequest): number => (needsOperator(request) ? 0 : request.state === 'held' ? 1 : 2);
  return open
    .toSorted(
      (a, b) =>
        urgency(a) - urgency(b) ||
        Number(isOverdue(b, now)) - Number(isOverdue(a, now)) ||
        (a.dueAt < b.dueAt ? -1 : 1),
    )
    .slice(0, requestsMax)
    .map(({ id, state, persons, reason, waitsFor, receivedAt, dueAt, eventsExpectedBy }) => ({
      id,
      state,
      waitsFor,
      persons,
      reasons: [
        ...new Set([reason, waitsFor, ...(targets.get(id) ?? []).map((target) => target.reason)].filter(isCode)),
      ],
      receivedAt,
      dueAt,
      eventsExpectedBy,
    }));
}

/** Whether a text is a code of this program. Any other text may be an operator's words, and is not shown. */
function isCode(text: RequestReason | WaitReason | null): text is RequestReason | WaitReason {
  return text !== null && /^[a-z][a-z_]{0,39}$/.test(text);
}
