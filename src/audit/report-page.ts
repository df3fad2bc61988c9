import { html } from 'hono/html';
import { assurances } from '../ledger/vocabulary.ts';
import { sinceErasure } from './since-erasure.ts';
import { barChart } from './bar-chart.ts';
import { howToVerify } from './how-to-verify.ts';
import type { Markup } from '../markup/markup.ts';
import { factList, pageTable, renderPage } from './audit-page.ts';
import type { AuditReport } from './report-data.ts';
import { everyRequest } from './request-table.ts';
import { codeText, countText, countedText, durationText, minuteText } from '../core/words.ts';
import {
  assuranceWords,
  resultText,
  stateCounts,
  stateText,
  targetKindText,
} from '../ledger/vocabulary-words.ts';

/** The report as a page to read and to print. */
export function reportPage(report: AuditReport): string {
  const { from, to, madeAt, totals, earlierOpen } = report;
  return renderPage({
    kind: 'Report on erasures',
    title: `${from} to ${to}`,
    lead: html`<p>
      ${
        totals.received === 0
          ? 'No request to erase a person was received in this period.'
          : html`${countedText(totals.received, 'request')} to erase a person
            ${totals.received === 1 ? 'was' : 'were'} received in this period; ${countText(totals.complete)}
            of them ${totals.complete === 1 ? 'is' : 'are'} complete.`
      }
      ${
        earlierOpen === 0
          ? ''
          : html`${countedText(earlierOpen, 'request')} from before it ${earlierOpen === 1 ? 'is' : 'are'}
            still open.`
      }
      <span class="soft">All days and times are UTC; as things stood ${minuteText(madeAt)}.</span>
    </p>`,
    content: html`${figures(report)} ${limits()} ${times(report)} ${toLookAt(report)} ${months(report)}
    ${targetEnds(report)} ${sinceErasure(report)} ${everyRequest(report)} ${howToVerify(report)}`,
    footer:
      'This report holds no personal data. It was made by analytics-mirror from its ledger and its mirror.',
  });
}

function figures({ totals, times }: AuditReport): Markup {
  const list: [value: string, name: string, isAlarm?: boolean][] = [
    [countText(totals.received), 'received'],
    [countText(totals.complete), 'complete'],
    [countText(totals.open), 'still open'],
    [countText(totals.overdue), 'overdue', totals.overdue > 0],
    [countText(totals.late), 'completed late', totals.late > 0],
    [durationText(times.here.medianMs), 'median until erased here'],
    [durationText(times.complete.medianMs), 'median until complete'],
  ];
  return html`<ul class="figures">
    ${list.map(
      ([value, name, isAlarm]) => html`<li class="${isAlarm ? 'alarm' : ''}"><b>${value}</b> ${name}</li>`,
    )}
  </ul>`;
}

function limits(): Markup {
  return html`<section class="panel weak" aria-labelledby="limits">
    <h2 id="limits">What this report cannot show</h2>
    <ul>
      <li>
        <b>That the ledger is whole.</b> Only a checkpoint that somebody outside has kept detects a ledger
        whose newest entries were cut off, or that was written anew. Nothing in the data folder can.
      </li>
      <li>
        <b>What the service still has.</b> Its event store and its backups cannot be looked at from here; it
        is told what was asked of it and what it answered.
      </li>
      <li>
        <b>What others have.</b> Copies of published files, backups of this data folder, and remnants on the
        storage device below the files are out of this program’s reach.
      </li>
    </ul>
  </section>`;
}

function times({ totals, times: { here, complete }, distribution, progress }: AuditReport): Markup {
  return html`<section aria-labelledby="times">
    <h2 id="times">How long it took, and how far things are</h2>
    ${
      here.count === 0
        ? html`<p>Nobody was erased yet of those received in this period.</p>`
        : html`<p>
              From receipt until the person was proved gone from here: median ${durationText(here.medianMs)},
              worst ${durationText(here.worstMs)} (${countedText(here.count, 'request')}). Until everything
              was reached, the service included: median ${durationText(complete.medianMs)}, worst
              ${durationText(complete.worstMs)} (${countedText(complete.count, 'request')}).
            </p>
            ${barChart({
              id: 'time-to-erase',
              title: 'Requests by the time they took, at most',
              description: `Median ${durationText(here.medianMs)} until erased here, ${durationText(complete.medianMs)} until complete.`,
              layout: 'beside',
              categories: distribution.here.map(({ upTo }) => upTo),
              series: [
                { name: 'erased here', tone: 2, values: distribution.here.map(({ count }) => count) },
                { name: 'complete', tone: 0, values: distribution.complete.map(({ count }) => count) },
              ],
            })}`
    }
    ${
      totals.received === 0
        ? ''
        : barChart({
            id: 'progress',
            title: `Requests of the period by how far they were, at the end of each ${progress.each}`,
            description:
              'How many were complete, erased here only, not erased yet, and refused or cancelled.',
            layout: 'stacked',
            categories: progress.points.map(({ label }) => label),
            series: [
              { name: 'complete', tone: 0, values: progress.points.map((point) => point.complete) },
              { name: 'erased here', tone: 2, values: progress.points.map((point) => point.erasedHere) },
              { name: 'not erased', tone: 1, values: progress.points.map((point) => point.waiting) },
              {
                name: 'refused, cancelled, out of time',
                tone: 3,
                values: progress.points.map((point) => point.ended),
              },
            ],
          })
    }
  </section>`;
}

function toLookAt({ requests, refusedFor, heldFor }: AuditReport): Markup {
  const list = requests.filter(
    ({ isOverdue, state }) => isOverdue || state === 'held' || state === 'attention',
  );
  const reasons = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([reason, count]) => `${codeText(reason)}: ${countText(count)}`)
      .join(', ');
  return html`<section aria-labelledby="look-at">
    <h2 id="look-at">What somebody has to look at</h2>
    ${
      list.length === 0
        ? html`<p>Nothing is overdue, held or in need of a person.</p>`
        : pageTable(
            'Requests that are overdue, held, or in need of a person',
            [
              { heading: 'Request', is: 'id' },
              { heading: 'State' },
              { heading: 'Why' },
              { heading: 'Received', is: 'when' },
              { heading: 'Due', is: 'when' },
            ],
            list.map(({ request, state, reason, receivedAt, dueAt, isOverdue }) => [
              html`<code>${request}</code>`,
              stateText(state),
              reason === null ? '–' : codeText(reason),
              minuteText(receivedAt),
              isOverdue ? html`<span class="late">${dueAt.slice(0, 10)}, overdue</span>` : dueAt.slice(0, 10),
            ]),
          )
    }
    ${Object.keys(heldFor).length === 0 ? '' : html`<p>Held: ${reasons(heldFor)}.</p>`}
    ${
      Object.keys(refusedFor).length === 0
        ? ''
        : html`<p>
            Refused: ${reasons(refusedFor)}. An unknown subject is an identifier that neither mirror,
            published files nor service know.
          </p>`
    }
  </section>`;
}

function months({ byMonth, byState }: AuditReport): Markup {
  if (byMonth.length === 0) return html``;
  return html`<section aria-labelledby="months">
    <h2 id="months">By month and state</h2>
    ${pageTable(
      'Requests by the month of their receipt, as they stand now',
      [
        'Month',
        'Received',
        'Complete',
        'Open',
        'Overdue',
        'Late',
        'Held',
        'Need a person',
        'Refused',
        'Cancelled',
      ].map((heading, index) => (index === 0 ? { heading } : { heading, is: 'number' as const })),
      byMonth.map(({ month, totals }) => [
        month,
        ...[
          totals.received,
          totals.complete,
          totals.open,
          totals.overdue,
          totals.late,
          totals.held,
          totals.attention,
          totals.refused,
          totals.cancelled,
        ].map(countText),
      ]),
    )}
    <p>
      By state:
      ${stateCounts(byState)
        .map(([text, count]) => `${text} ${count}`)
        .join(', ')}.
    </p>
  </section>`;
}

function targetEnds({ targetEnds: ends }: AuditReport): Markup {
  return html`<section aria-labelledby="ends">
    <h2 id="ends">How far the results can be believed</h2>
    ${factList(assurances.map((assurance) => [assuranceWords[assurance].name, assuranceWords[assurance].means]))}
    ${
      ends.length === 0
        ? ''
        : pageTable(
            'Ends of all targets of these requests, weakest first',
            [
              { heading: 'Target' },
              { heading: 'End' },
              { heading: 'Assurance' },
              { heading: 'How many', is: 'number' },
            ],
            ends.map(({ kind, result, assurance, targets }) => [
              targetKindText(kind),
              resultText(result),
              assuranceWords[assurance].name,
              countText(targets),
            ]),
          )
    }
  </section>`;
}
