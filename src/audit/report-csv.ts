import { stringify } from 'csv-stringify/sync';
import type { AuditReport } from './report-data.ts';
import type { ReportedRequest, ReportedTarget } from './reported-request.ts';

type Cell = string | number | null;

const requestColumns: Readonly<Record<string, (request: ReportedRequest) => Cell>> = {
  request: ({ request }) => request,
  generation: ({ generation }) => generation,
  origin: ({ origin }) => origin,
  basis: ({ basis }) => basis,
  state: ({ state }) => state,
  reason: ({ reason }) => reason,
  received_at: ({ receivedAt }) => receivedAt,
  due_at: ({ dueAt }) => dueAt,
  fenced_at: ({ fencedAt }) => fencedAt,
  locally_verified_at: ({ verifiedAt }) => verifiedAt,
  completed_at: ({ completedAt }) => completedAt,
  refused_or_cancelled_at: ({ endedAt }) => endedAt,
  sealed_at: ({ sealedAt }) => sealedAt,
  events_expected_by: ({ eventsExpectedBy }) => eventsExpectedBy,
  hours_until_erased_here: ({ hereMs }) => hoursOf(hereMs),
  hours_until_complete: ({ completeMs }) => hoursOf(completeMs),
  late: ({ isLate }) => yesNo(isLate),
  overdue: ({ isOverdue }) => yesNo(isOverdue),
  weakest_assurance: ({ weakestEvidence }) => weakestEvidence,
  fence_entries: ({ fence }) => fence.entries,
  fence_hits: ({ fence }) => fence.hits,
  fence_recreated: ({ fence }) => fence.recreated,
  acknowledged_by: ({ acknowledgements }) => consumersOf(acknowledgements, true),
  not_acknowledged_by: ({ acknowledgements }) => consumersOf(acknowledgements, false),
  certificate_sha256: ({ certificate }) => certificate,
};

const targetColumns: Readonly<Record<string, (target: ReportedTarget) => Cell>> = {
  target: ({ target }) => target,
  target_status: ({ status }) => status,
  target_result: ({ result }) => result,
  target_assurance: ({ evidence }) => evidence,
  target_rows_removed: ({ rowsRemoved }) => rowsRemoved,
  target_ended_at: ({ endedAt }) => endedAt,
};

/**
 * The report's requests as CSV (RFC 4180, UTF-8, a header, CRLF): a row for each target, with its request's columns; one
 * row for a request without targets. A cell that a spreadsheet would take for a formula begins with an apostrophe.
 */
export function reportCsv({ requests }: Pick<AuditReport, 'requests'>): string {
  const rows: Cell[][] = [];
  for (const request of requests) {
    const about = Object.values(requestColumns).map((cellOf) => cellOf(request));
    const targets: (ReportedTarget | undefined)[] = request.targets.length > 0 ? request.targets : [undefined];
    for (const target of targets)
      rows.push([...about, ...Object.values(targetColumns).map((cellOf) => (target ? cellOf(target) : null))]);
  }
  return stringify(rows, {
    header: true,
    columns: [...Object.keys(requestColumns), ...Object.keys(targetColumns)],
    escape_formulas: true,
    record_delimiter: 'windows',
  });
}

function consumersOf(acknowledgements: ReportedRequest['acknowledgements'], have: boolean): string {
  const ofThese = acknowledgements.filter(({ acknowledgedAt }) => (acknowledgedAt !== null) === have);
  return ofThese.map(({ consumer }) => consumer).join(' ');
}

function hoursOf(ms: number | null): number | null {
  return ms === null ? null : Number((ms / 3_600_000).toFixed(2));
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}
