import { html } from 'hono/html';
import { evidences } from '../ledger/vocabulary.ts';
import { sinceErasure } from './since-erasure.ts';
import { howToVerify } from './how-to-verify.ts';
import { table, type Markup } from '../markup/markup.ts';
import { factList, renderPage } from './audit-page.ts';
import { totalColumns, type AuditReport } from './report-data.ts';
import { reportAnswer, waitingForPerson } from './report-answer.ts';
import { everyRequest } from './request-table.ts';
import { codeText, countText, countedText, durationText, minuteText } from '../core/words.ts';
import { evidenceWords, resultText, stateCounts, stateText, targetKindText } from '../ledger/vocabulary-words.ts';

/** The report as a page to read and to print. `certificates`: where their files lie, seen from the page, such as `certificates/`. */
export function reportPage(report: AuditReport, certificates: string | null = null): string {
  const { from, to, madeAt } = report;
  const { says, isGood } = reportAnswer(report);
  return renderPage({
    kind: 'Report on erasures',
    title: `${from} to ${to}`,
    lead: html`<p class="summary"><span class="${isGood ? 'good' : 'late'}">${says}</span></p>
      <p class="soft">
        All days and times are UTC; as of ${minuteText(madeAt)}. States and counts are those of the ledger. How often
        the fence was used, and the feed, are those of mirror.db.
      </p>`,
    content: html`${figures(report)} ${accessLine(report)} ${toLookAt(report)} ${limits()} ${times(report)}
    ${months(report)} ${targetEnds(report)} ${boundState(report)}${sinceErasure(report)}
    ${everyRequest(report, certificates)} ${howToVerify(report)}`,
    footer: 'This report names no person. It was made by analytics-mirror from its ledger and its mirror.',
  });
}

function figures({ totals, times }: AuditReport): Markup {
  const list: [value: string, name: string, isAlarm?: boolean][] = [
    [countText(totals.received), 'received'],
    [countText(totals.complete), 'complete'],
    [countText(totals.open), 'still open'],
    [countText(totals.overdue), 'overdue', totals.overdue > 0],
    [countText(totals.late), 'ended late', totals.late > 0],
    [countText(totals.reopened), 'opened again', totals.reopened > 0],
    [durationText(times.here.medianMs), 'median until erased here'],
    [durationText(times.complete.medianMs), 'median until complete'],
  ];
  return html`<ul class="figures">
    ${list.map(([value, name, isAlarm]) => html`<li class="${isAlarm ? 'alarm' : ''}"><b>${value}</b> ${name}</li>`)}
  </ul>`;
}

/** The requests for access of the period; nothing where there were none. */
function accessLine({ access: { received, answered, cancelled, open, overdue, late } }: AuditReport): Markup {
  if (received === 0) return html``;
  return html`<p>
    ${countedText(received, 'request for access', 'requests for access')}: ${countText(answered)} answered,
    ${countText(late)} of them late; ${countText(cancelled)} cancelled; ${countText(open)} open, ${countText(overdue)}
    of them overdue. That they were answered is the operator’s word.
  </p>`;
}

function boundState({ state }: AuditReport): Markup {
  if (state.length === 0) return html``;
  return html`<section aria-labelledby="state">
    <h2 id="state">What was not as the ledger says</h2>
    <p>Older copies that were put back, and keys, files or tables that were changed from outside.</p>
    <ul>
      ${state.map(
        ({ at, event, part, items }) =>
          html`<li>
            ${minuteText(at)}: ${codeText(part)}, ${countText(items)} ${event === 'differs' ? 'found' : 'mended'}
          </li>`,
      )}
    </ul>
  </section>`;
}

function limits(): Markup {
  return html`<section class="panel weak" aria-labelledby="limits">
    <h2 id="limits">What this report cannot show</h2>
    <ul>
      <li>
        <b>That the ledger is whole.</b> Only a checkpoint that was kept outside detects a ledger whose newest entries
        were cut off, or that was rewritten. Nothing in the data folder can detect it.
      </li>
      <li>
        <b>What the service still has.</b> This program cannot read the service’s event store and backups. The report
        shows what the program asked and what the service answered.
      </li>
      <li>
        <b>What others have.</b> This program cannot reach copies of published files, backups of this data folder, and
        remnants on the storage device below the files.
      </li>
    </ul>
  </section>`;
}

function times({ totals, times: { here, complete }, distribution, progress }: AuditReport): Markup {
  return html`<section aria-labelledby="times">
    <h2 id="times">How long the erasures took, and how far the requests are</h2>
    ${
      here.count === 0
        ? html`<p>No request of this period has led to an erasure yet.</p>`
        : html`<p>
              From receipt until the person was proved gone from our copy: median ${durationText(here.medianMs)}, worst
              ${durationText(here.worstMs)} (${countedText(here.count, 'request')}). Until everything was reached, the
              service included: median ${durationText(complete.medianMs)}, worst ${durationText(complete.worstMs)}
              (${countedText(complete.count, 'request')}).
            </p>
            ${table(
              'Requests by the time that they took at most',
              [{ heading: 'At most', is: 'when' }, 'Erased here', 'Complete'],
              distribution.here.map(({ upTo, count }, index) => [
                upTo,
                count,
                distribution.complete[index]?.count ?? 0,
              ]),
            )}`
    }
    ${
      totals.received === 0
        ? ''
        : table(
            `Progress of the period’s requests at the end of each ${progress.each}`,
            [
              { heading: 'End of', is: 'when' },
              'Complete',
              'Erased here',
              'Not erased',
              'Refused, cancelled, out of time',
            ],
            progress.points.map((point) => [
              point.label,
              point.complete,
              point.erasedHere,
              point.notErased,
              point.ended,
            ]),
          )
    }
  </section>`;
}

function toLookAt(report: AuditReport): Markup {
  const { requests, refusedFor, heldFor, differences } = report;
  const waiting = waitingForPerson(report);
  const list = requests.filter(({ isOverdue, state }) => isOverdue || state === 'held' || state === 'attention');
  const reasons = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([reason, count]) => `${codeText(reason)}: ${countText(count)}`)
      .join(', ');
  return html`<section aria-labelledby="look-at">
    <h2 id="look-at">What needs attention</h2>
    ${
      list.length === 0
        ? html`<p>
            ${waiting.length === 0 ? 'Nothing needs a person.' : 'No request is overdue, held or in need of attention.'}
          </p>`
        : table(
            'Requests that are overdue, held, or in need of attention',
            [
              { heading: 'Request', is: 'id' },
              'State',
              'Why',
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
    ${waiting.length === 0 ? '' : html`<p>A person is needed: ${waiting.join(', ')}.</p>`}
    ${
      differences.length === 0
        ? ''
        : html`<p class="late">mirror.db says otherwise than the ledger, and this report follows the ledger:</p>
            <ul>
              ${differences.map((sentence) => html`<li>${sentence}</li>`)}
            </ul>`
    }
    ${Object.keys(heldFor).length === 0 ? '' : html`<p>Held: ${reasons(heldFor)}.</p>`}
    ${
      Object.keys(refusedFor).length === 0
        ? ''
        : html`<p>
            Refused: ${reasons(refusedFor)}. An unknown subject is an identifier that is not in the mirror, not in the
            published files and not at the service.
          </p>`
    }
  </section>`;
}

function months({ byMonth, byState }: AuditReport): Markup {
  if (byMonth.length === 0) return html``;
  return html`<section aria-labelledby="months">
    <h2 id="months">By month and state</h2>
    ${table(
      'Requests by the month of their receipt, in their present state',
      [{ heading: 'Month', is: 'when' }, ...totalColumns.map(({ heading }) => heading)],
      byMonth.map(({ month, totals }) => [month, ...totalColumns.map(({ total }) => totals[total])]),
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
    <h2 id="ends">How strong the evidence is</h2>
    ${factList(evidences.map((evidence) => [evidenceWords[evidence].name, evidenceWords[evidence].means]))}
    ${
      ends.length === 0
        ? ''
        : table(
            'Results of all targets of these requests, weakest first',
            ['Target', 'Result', 'Evidence', 'How many'],
            ends.map(({ kind, result, evidence, targets }) => [
              targetKindText(kind),
              resultText(result),
              evidenceWords[evidence].name,
              targets,
            ]),
          )
    }
  </section>`;
}
