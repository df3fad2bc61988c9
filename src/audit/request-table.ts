import { html } from 'hono/html';
import { certificateName } from '../erasure/proof/certificate-file.ts';
import { table, type Markup } from '../markup/markup.ts';
import type { AuditReport } from './report-data.ts';
import type { ReportedRequest } from './reported-request.ts';
import { elsewhereTargets, readTarget } from '../ledger/target.ts';
import { evidenceWords, kindOfTarget, resultText, stateText, type TargetKind } from '../ledger/vocabulary-words.ts';
import { codeText, durationText, minuteText } from '../core/words.ts';

/** Each kind of target, as the heading of its column. */
const targetColumns = [
  { kind: 'upstream.person', heading: 'Person' },
  { kind: 'upstream.events', heading: 'Events' },
  { kind: 'upstream.recordings', heading: 'Record-ings' },
  { kind: 'upstream.playlists', heading: 'Play-lists' },
  { kind: 'mirror', heading: 'Mirror' },
  { kind: 'aux', heading: 'Other files' },
  { kind: 'snapshot', heading: 'Published files' },
  { kind: 'bucket', heading: 'Bucket' },
  { kind: 'copies', heading: 'Copies' },
] as const;

/** Every request of a report, with its targets, in one table. Each leads to its certificate, where there is a way to it. */
export function everyRequest({ requests }: Pick<AuditReport, 'requests'>, certificates: string | null): Markup {
  if (requests.length === 0) return html``;
  const isSeldom = (kind: TargetKind): boolean => elsewhereTargets.some((name) => name === kind);
  const isThere = (kind: TargetKind): boolean =>
    requests.some(({ targets }) => targets.some(({ target }) => target === kind));
  const columns = targetColumns.filter(({ kind }) => !isSeldom(kind) || isThere(kind));
  return html`<section aria-labelledby="requests">
    <h2 id="requests">Every request</h2>
    <p>
      The four columns from <i>Person</i> on are targets at the service, the others are here. <b>V</b> verified,
      <b>O</b> observed, <b>A</b> asserted by the service, <b>N</b> not verifiable, <b>✗</b> not reached: the data are
      still there, <b>…</b> still open, <b>–</b> no such target. For published files: their number, and the letter of
      the weakest.
    </p>
    ${table(
      'Requests of the period, oldest first: time from receipt, and the assurance of each target',
      [
        { heading: 'Request', is: 'id' },
        'State',
        { heading: 'Until erased here', is: 'number' },
        { heading: 'Until complete', is: 'number' },
        ...columns.map(({ heading }) => ({ heading: heading.replace('-', '\u00ad'), is: 'letter' as const })),
        'Kept out since',
      ],
      requests.map((request) => [
        html`${idOf(request, certificates)}<br /><span class="soft">${minuteText(request.receivedAt)}</span>`,
        html`${stateText(request.state)}${request.reason === null ? '' : html`: ${codeText(request.reason)}`}
        ${request.isLate ? html`<span class="late">late</span>` : ''}
        ${request.isOverdue ? html`<span class="late">overdue</span>` : ''}`,
        durationText(request.hereMs),
        durationText(request.completeMs),
        ...columns.map(({ kind }) => targetCell(request, kind)),
        request.fence.hits,
      ]),
    )}
  </section>`;
}

function idOf(request: ReportedRequest, certificates: string | null): Markup {
  const id = html`<code>${request.request}</code>`;
  if (request.certificate === null || certificates === null) return id;
  return html`<a href="${certificates}${certificateName(request)}" title="Its certificate">${id}</a>`;
}

const letters = {
  verified: 'V',
  observed: 'O',
  asserted_by_upstream: 'A',
  not_verifiable: 'N',
  not_reached: '✗',
} as const;

/** A request's targets come weakest first. */
function targetCell({ targets }: ReportedRequest, kind: TargetKind): Markup | string {
  const ofKind = targets.filter(({ target }) => kindOfTarget(readTarget(target)) === kind);
  const [weakest] = ofKind;
  if (!weakest) return '–';
  const { evidence, result } = weakest;
  const letter = evidence === null ? '…' : letters[evidence];
  const name = evidence === null ? 'still open' : `${evidenceWords[evidence].name}: ${resultText(result)}`;
  return html`${kind === 'snapshot' ? html`${ofKind.length} ` : ''}<abbr title="${name}">${letter}</abbr>`;
}
