import { sha256 } from '../../core/digest.ts';
import { reachedAt, type EndedTarget, type RequestHistory } from '../../ledger/request-history.ts';
import type { TargetName } from '../../ledger/target.ts';
import { evidenceOf, evidences, type TargetResult } from '../../ledger/vocabulary.ts';
import { certificateSentences, certificateVersion, methods, type Method } from './certificate-sentences.ts';
import { Certificate, certificateText, type Stated, droppedWait, isDated, summaryOf } from './certificate.ts';

/** The facts of a certificate that its request's history does not hold: the ledger's name, and when its row leaves the feed. */
export type IssueFacts = { ledgerOrigin: string; feedUntil: string; stated: Stated };

/** A finished request's certificate; undefined for a history that is not whole. Same history, same certificate. */
export function deriveCertificate(
  history: RequestHistory,
  { ledgerOrigin, feedUntil, stated }: IssueFacts,
): Certificate | undefined {
  const { neverProven, downstreamCopies, waitDropped } = certificateSentences;
  const { fence, verified, verify, control, received, dueAt } = history;
  const certifiedAt = reachedAt(history);
  const targets = [...history.targets.values()]
    .map((end) => Object.assign({}, end, { evidence: evidenceOf(end) }))
    .toSorted(
      (a, b) => evidences.indexOf(a.evidence) - evidences.indexOf(b.evidence) || (a.target < b.target ? -1 : 1),
    );
  const [weakest] = targets;
  if (!fence || !verified || !verify || !weakest || certifiedAt === undefined) return undefined;
  const { request, generation, origin, basis, subject } = history;
  const about = {
    origin,
    locally_verified_at: verified.at,
    deleted_upstream_at: history.deletedUpstreamAt,
    due_at: dueAt,
    is_late: certifiedAt > dueAt,
    events_expected_by: history.eventsExpectedBy,
    targets: targets.map(({ target, result, evidence, rowsBefore, rowsOwn, machines, endedAt }) => ({
      target,
      result,
      assurance: evidence,
      rows_before: rowsBefore,
      rows_removed: rowsOwn,
      ended_at: endedAt,
      ...(machines === null ? {} : { machines: [...machines] }),
      method: methodOf(target, result),
    })),
  };
  const droppedUntil = droppedWait(about);
  const consumers = [...history.consumers]
    .map(([consumer, at]) => ({ consumer, acknowledged_at: at }))
    .toSorted((a, b) => (a.consumer < b.consumer ? -1 : 1));
  return Certificate.parse({
    ...about,
    format_version: certificateVersion,
    request,
    generation,
    basis,
    subject,
    authorisation: history.authorisation,
    received_at: received.at,
    fenced_at: fence.at,
    certified_at: certifiedAt,
    days: daysBegun(received.at, certifiedAt),
    weakest_assurance: weakest.evidence,
    scan: { control: control && scanOf(control), verify: scanOf(verify) },
    fence: { epoch: fence.epoch, entries: fence.entries },
    ledger: {
      origin: ledgerOrigin,
      entries: { received: received.entry, fenced: fence.entry, locally_verified: verified.entry },
    },
    not_proven: [
      ...targets.flatMap(notProvenOf),
      ...(droppedUntil === null ? [] : [{ code: 'wait_dropped', says: waitDropped, until: droppedUntil }]),
      { code: 'service_event_store', says: neverProven.service_event_store },
      { code: 'service_backups', says: neverProven.service_backups },
      { code: 'downstream_copies', says: downstreamCopies, until: feedUntil },
      { code: 'operator_backups', says: neverProven.operator_backups },
      { code: 'block_device', says: neverProven.block_device },
    ],
    consumers,
    stated,
    statements: statementsOf({ ...history, consumers }, about.targets),
    summary: summaryOf(about),
  });
}

/** How a target was erased; null where the result says of no data that they were erased by this request. */
function methodOf(target: TargetName, result: TargetResult): Method | null {
  if (['deleted', 'removed', 'confirmed', 'deletion_requested'].includes(result)) return 'by_service';
  if (!['purged', 'rewritten', 'file_gone'].includes(result)) return null;
  return target === 'mirror' ? 'clear' : 'below_clear';
}

/** What a certificate states beside what was reached: fixed sentences that the request's entries choose. */
function statementsOf(
  { basis, origin, consumers }: Pick<RequestHistory, 'basis' | 'origin'> & { consumers: readonly object[] },
  targets: readonly { result: TargetResult; method: Method | null }[],
): { code: string; method?: Method; says: string }[] {
  const said = certificateSentences;
  const used = methods.filter((method) => targets.some((target) => target.method === method));
  return [
    { code: 'legal_ground', says: said.legalGround[basis] },
    ...(targets.some(({ result }) => result === 'kept') ? [{ code: 'exception', says: said.exception }] : []),
    { code: 'authorised_by', says: said.authorisedBy[origin] },
    { code: 'identity_check', says: said.identityCheck },
    ...used.map((method) => ({ code: 'method', method, says: said.method[method] })),
    { code: 'recipients', says: consumers.length > 0 ? said.consumers : said.recipients },
    { code: 'retention', says: said.retention },
  ];
}

/** The text of the certificate that was issued with this SHA-256; undefined if nothing gives that hash. */
export function deriveIssuedText(history: RequestHistory, facts: IssueFacts, digest: string): string | undefined {
  const certificate = deriveCertificate(history, facts);
  const text = certificate && certificateText(certificate);
  return text !== undefined && sha256(text) === digest ? text : undefined;
}

function scanOf({
  passedOver,
  leftOut,
  ...rest
}: NonNullable<RequestHistory['verify']>): Certificate['scan']['verify'] {
  return { ...rest, passed_over: passedOver, ...(leftOut === undefined ? {} : { left_out: leftOut }) };
}

function notProvenOf({ target, result, assurance, until }: EndedTarget): Record<string, string | null>[] {
  const { belowVerified, notReached } = certificateSentences;
  const says = Object.hasOwn(notReached, result) ? notReached[result as keyof typeof notReached] : undefined;
  if (says !== undefined)
    return [{ code: 'target_not_reached', target, result, says, ...(isDated(result) ? { until } : {}) }];
  return assurance === 'verified'
    ? []
    : [{ code: 'target_below_verified', target, assurance, says: belowVerified[assurance] }];
}

function daysBegun(from: string, to: string): number {
  return Math.max(0, Math.ceil((Date.parse(to) - Date.parse(from)) / 86_400_000));
}
