import type { FixedTarget, TargetName } from '../../ledger/target.ts';
import { evidenceOf, type Evidence, type Origin, type TargetResult } from '../../ledger/vocabulary.ts';
import { certificateSentences } from './certificate-sentences.ts';

/** What a summary is made of: the fields of a certificate of any version. */
export type Summarised = {
  origin: Origin;
  locally_verified_at: string;
  due_at: string;
  is_late: boolean;
  deleted_upstream_at?: string | null;
  events_expected_by: string | null;
  targets: readonly { target: TargetName; result: TargetResult; assurance: Evidence; ended_at: string }[];
};

const inOrder = ['upstream.person', 'upstream.events', 'upstream.recordings'] as const satisfies FixedTarget[];
const written = certificateSentences[4].forRegulators.summary;
const parts: Readonly<Record<string, string>> = written;

/** What was done for a request, in one sentence. It names each target at the service, and says where one was not reached. */
export function summaryOf(certificate: Summarised): string {
  const { origin, locally_verified_at: here, due_at: dueAt, is_late: isLate, targets } = certificate;
  const deletedAt = certificate.deleted_upstream_at ?? null;
  const clauses = [clause(written.here, here)];
  const told = new Set<TargetName>();
  for (const name of inOrder) {
    const end = targets.find(({ target }) => target === name);
    if (!end) continue;
    const isRepeated = end.target === 'upstream.person' && end.result === 'already_absent' && deletedAt !== null;
    const isUnasked = end.result === 'kept' && origin !== 'manual';
    const part = isUnasked ? written.kept_unasked : parts[`${name} ${end.result}`];
    if (part === undefined) continue;
    told.add(name);
    clauses.push(isRepeated ? clause(written.deleted_before, deletedAt) : clause(part, end.ended_at));
  }
  if (targets.some((end) => !told.has(end.target) && isLeft(end))) clauses.push(written.not_reached);
  const droppedUntil = droppedWait(certificate);
  if (droppedUntil !== null) clauses.push(clause(written.wait_dropped, droppedUntil));
  if (isLate) clauses.push(clause(written.late, dueAt));
  return `${clauses.join('; ')}.`;
}

/** Until when the events should have been deleted, where that was not waited for; null where it was. */
export function droppedWait({ targets, events_expected_by: expectedBy }: Summarised): string | null {
  const events = targets.find(({ target }) => target === 'upstream.events');
  const isOpen = events?.result === 'not_verifiable' || events?.result === 'unconfirmed';
  return expectedBy !== null && isOpen && events.ended_at < expectedBy ? expectedBy : null;
}

function isLeft({ result, assurance }: Summarised['targets'][number]): boolean {
  return evidenceOf({ result, assurance }) === 'not_reached';
}

function clause(part: string, at: string): string {
  return part.replace('{day}', at.slice(0, 10));
}
