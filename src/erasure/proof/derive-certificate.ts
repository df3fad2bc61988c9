import { coverageOf, reachedAt, type EndedTarget, type RequestHistory } from '../../ledger/request-history.ts';
import { evidenceOf, evidences, type TargetResult } from '../../ledger/vocabulary.ts';
import { Certificate, certificateVersion, type Method, type Stated, unprovable } from './certificate.ts';

/** Results that are said together with a time. */
const datedResults: readonly TargetResult[] = ['locked', 'partly_deleted'];

/** A finished request's certificate; undefined for a history that is not whole. Same history and statement, same certificate. */
export function deriveCertificate(
  history: RequestHistory,
  { ledgerOrigin, stated }: { ledgerOrigin: string; stated: Stated },
): Certificate | undefined {
  const { fence, verified, verify, control, received, dueAt } = history;
  const endedAt = reachedAt(history);
  const targets = [...history.targets.values()]
    .map(certifiedTarget)
    .toSorted(
      (a, b) => evidences.indexOf(a.assurance) - evidences.indexOf(b.assurance) || (a.target < b.target ? -1 : 1),
    );
  const [weakest] = targets;
  if (!fence || !verified || !verify || !weakest || endedAt === undefined) return undefined;
  const { request, generation, origin, basis, subject } = history;
  return Certificate.parse({
    format_version: certificateVersion,
    request,
    generation,
    origin,
    basis,
    subject,
    authorisation: history.authorisation,
    ...history.decision,
    received_at: received.at,
    due_at: dueAt,
    fenced_at: fence.at,
    locally_verified_at: verified.at,
    deleted_upstream_at: history.deletedUpstreamAt,
    ended_at: endedAt,
    days: Math.max(0, Math.ceil((Date.parse(endedAt) - Date.parse(received.at)) / 86_400_000)),
    is_late: endedAt > dueAt,
    weakest_assurance: weakest.assurance,
    targets,
    scan: { control: control && scanOf(control), verify: scanOf(verify) },
    fence: { epoch: fence.epoch, entries: fence.entries },
    ledger: {
      origin: ledgerOrigin,
      entries: { received: received.entry, fenced: fence.entry, locally_verified: verified.entry },
    },
    events_expected_by: history.eventsExpectedBy,
    consumers: [...history.consumers]
      .map(([consumer, told]) => Object.assign({ consumer, acknowledged_at: told.at }, coverageOf(told)))
      .toSorted((a, b) => (a.consumer < b.consumer ? -1 : 1)),
    not_proven: unprovable.filter((code) => code !== 'wait_dropped' || isWaitDropped(history)),
    stated,
  });
}

/**
 * Whether the events should have been deleted by a time that was not waited for. Of a person whom this program has not deleted, it
 * has deleted no events either: it waited for a deletion of somebody else, which covers a part at most.
 */
function isWaitDropped({ targets, eventsExpectedBy, deletedUpstreamAt }: RequestHistory): boolean {
  const events = targets.get('upstream.events');
  if (!events || eventsExpectedBy === null) return false;
  const wasGone = targets.get('upstream.person')?.result === 'already_absent' && deletedUpstreamAt === null;
  const isOpen = events.result === 'not_verifiable' || events.result === 'unconfirmed';
  return isOpen && !wasGone && events.endedAt < eventsExpectedBy;
}

/** What a certificate says of a target. */
function certifiedTarget(end: EndedTarget): Certificate['targets'][number] {
  const { target, result, machines } = end;
  return {
    target,
    result,
    assurance: evidenceOf(end),
    rows_before: end.rowsBefore,
    rows_removed: end.rowsRemoved,
    ended_at: end.endedAt,
    ...(datedResults.includes(result) ? { until: end.until } : {}),
    ...(machines === null ? {} : { machines: [...machines] }),
    method: methodOf(result),
  };
}

/** How a target was erased; null where the result says of no data that they were erased by this request. */
function methodOf(result: TargetResult): Method | null {
  if (['deleted', 'removed', 'confirmed', 'deletion_requested'].includes(result)) return 'by_service';
  return ['purged', 'rewritten', 'file_gone'].includes(result) ? 'below_clear' : null;
}

function scanOf({ passedOver, leftOut, ...rest }: NonNullable<RequestHistory['verify']>) {
  return { ...rest, passed_over: passedOver, ...(leftOut === undefined ? {} : { left_out: leftOut }) };
}
