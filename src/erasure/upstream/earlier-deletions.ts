import { presentOf } from '../../core/present.ts';
import { isSingleCase } from '../../client/service.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';
import { lifeEndsAtMs } from '../request/life-plan.ts';
import { callAttentionOnce, note, type RequestRef } from '../request/target-journal.ts';
import { together } from '../request/together.ts';
import { probeCapabilities } from './capabilities.ts';
import { eachSubject, openTarget, waitOf, type UpstreamContext } from './context.ts';
import type { Deletion } from './delete-persons.ts';
import { ownAfterOf, planSending, type QueuedDeletion } from './events-plan.ts';
import { askForDeletions } from './queued-deletions.ts';

const target = 'upstream.events';

/** How often the service is asked whether an earlier deletion is done. */
const lookAgainAfterMs = 6 * 3_600_000;

const dayMs = 86_400_000;
/** A person is deleted in any case so long before the request is due, */
const beforeDueMs = dayMs;
/** and so long before its time is over: the next batch has its day until then. */
const beforeEndMs = 9 * dayMs;

/**
 * Looks, before the first deletion of each request is sent, whether the service has deletions of the same events from before.
 * Returns the deletions that are to be sent now. The others wait, which is told, until an earlier one is done: once the person is
 * gone, no call can queue another. From when on a row can be the request's own is remembered before it is sent.
 */
export async function afterEarlierDeletions(
  context: UpstreamContext,
  deletions: readonly Deletion[],
): Promise<Deletion[]> {
  const first = deletions.filter((deletion) => isFirst(context, deletion));
  for (const deletion of deletions) if (!first.includes(deletion)) countPersons(context, deletion);
  if (first.length === 0 || !(await probeCapabilities(context.service, context.signal)).deletionStatus)
    return [...deletions];
  const looked = await eachSubject(context, first, (deletion) => look(context, deletion));
  const dates = looked.flatMap(({ dateMs }) => dateMs ?? []);
  // Nothing is sent before the last of these answers.
  const dateMs = dates.length === 0 ? undefined : Math.max(...dates);
  const ready = together(context, (own) => looked.filter((each) => mayBeSent(own, each, dateMs)));
  const sent = new Set(ready.map(({ deletion }) => deletion));
  return deletions.filter((deletion) => sent.has(deletion) || !first.includes(deletion));
}

/** A first deletion, and the rows that the service has beside it; undefined where it does not say. */
type Looked = { deletion: Deletion; rows: QueuedDeletion[] | undefined; dateMs: number | undefined };

function isFirst(context: UpstreamContext, deletion: Deletion): boolean {
  const attempts = openTarget(context, deletion, 'upstream.person')?.attempts;
  return deletion.deleteEvents && attempts === 0 && openTarget(context, deletion, target) !== undefined;
}

/** A person who was not there when the first deletion was sent has no row of its own before: then more rows have to be there. */
function countPersons(context: UpstreamContext, deletion: Deletion): void {
  const { length: personsMax } = deletion.identity.person_uuid;
  const sent = openTarget(context, deletion, target)?.personsSent ?? null;
  if (sent === null || sent >= personsMax) return;
  note(context, deletion, target, { personsSent: Math.min(personsMax, sent + deletion.living.length) });
}

async function look(context: UpstreamContext, deletion: Deletion): Promise<Looked> {
  const uuids = deletion.living.map(({ uuid }) => uuid);
  try {
    return { deletion, ...(await askForDeletions(context, uuids)) };
  } catch (error) {
    // A service that does not say keeps no person for ever.
    if (!isSingleCase(error) || presentOf(context).earliestMs < deadlineMs(context, deletion)) throw error;
    return { deletion, rows: undefined, dateMs: undefined };
  }
}

/** Notes what follows from the rows. Returns whether the deletion is to be sent. */
function mayBeSent(
  context: UpstreamContext,
  { deletion, rows, dateMs: lookedAtMs }: Looked,
  dateMs: number | undefined,
): boolean {
  const events = openTarget(context, deletion, target);
  if (!events || !rows) return true;
  const nowMs = presentOf(context).earliestMs;
  const times = { serviceMs: lookedAtMs ?? nowMs, nowMs, deadlineMs: deadlineMs(context, deletion) };
  const step = planSending(rows, times);
  if (step.do === 'wait' && !isWaitEnded(events)) {
    callAttentionOnce(context, deletion, events, 'events_queued_before');
    note(context, deletion, target, waitOf(context, { until: step.expectedBy }));
    const lastsMs = Math.min(lookAgainAfterMs, times.deadlineMs - nowMs);
    note(context, deletion, 'upstream.person', waitOf(context, { lastsMs }));
    return false;
  }
  if (step.do === 'send' && step.isEarlier && !isWaitEnded(events))
    callAttentionOnce(context, deletion, events, 'events_queued_before');
  const ownAfter = ownAfterOf(rows, dateMs);
  note(context, deletion, target, { ownAfter, personsSent: deletion.living.length, notBefore: null });
  return true;
}

/** Lets the deletion of a request's persons go on, although an earlier deletion of their events waits: an operator wants it. */
export function endWait(context: Parameters<typeof note>[0], request: RequestRef): void {
  note(context, request, target, { status: 'waiting', reason: null });
  note(context, request, 'upstream.person', { notBefore: null });
}

/** Before a deletion is sent, events wait only where an operator has ended the wait of their person. */
function isWaitEnded({ status }: ErasureTarget): boolean {
  return status === 'waiting';
}

/** Until when the deletion of a request's persons waits at most. */
function deadlineMs({ db, settings }: UpstreamContext, { id }: Deletion): number {
  const request = findRequest(db, id);
  if (!request) return 0;
  const endsAtMs = lifeEndsAtMs(request, settings.erasure.maxRequestDays);
  return Math.min(Date.parse(request.dueAt) - beforeDueMs, endsAtMs - beforeEndMs);
}
