import { html } from 'hono/html';
import type { JobState } from '../job/worker-state.ts';
import type { DestinationStanding } from '../mirror/destinations.ts';
import type { ProjectContent } from './overview.ts';
import { table, type Markup } from '../markup/markup.ts';
import { badge, figures, nextText, when, withCode } from './page-parts.ts';
import { looks } from './page-runs.ts';
import { bytesText, codeText, countText, countedText } from '../core/words.ts';

/** The published snapshots, their sizes, and when their files were last checked. */
export function snapshotsPart({ snapshots, buckets, snapshotsCheckedAt }: ProjectContent, now: string): Markup {
  if (snapshots === null) return html`<p>${badge('broken', 'A manifest is missing or damaged.')}</p>`;
  if (snapshots.length === 0)
    return html`<p class="soft">
      Nothing is published yet. ${withCode('`analytics-mirror export`')} publishes the first snapshots.
    </p>`;
  return html`${table(
      'Current snapshots',
      ['Dataset', 'Rows', { heading: 'Size', is: 'number' }, 'Published', 'Verdict of its pass'],
      snapshots.map(({ dataset, rows, bytes, createdAt, deltas, updatedAt, unchangedAt, verdict }) => [
        codeText(dataset),
        rows,
        bytesText(bytes),
        html`${when(createdAt, now)}${deltas === 0 ? '' : html`, ${countedText(deltas, 'delta')} since, the last ${when(updatedAt, now)}`}${
          unchangedAt === null ? '' : html`; unchanged since, as an export found ${when(unchangedAt, now)}`
        }`,
        verdict === null ? badge('plain', 'no pass') : badge(verdict === 'complete' ? 'well' : 'attention', verdict),
      ]),
    )}
    ${buckets.map((bucket) => bucketPart(bucket, now))}
    <p class="small more">
      ${
        snapshotsCheckedAt === null
          ? withCode(
              'The files have not been checked yet. The job `checkpoint` checks them; `analytics-mirror doctor` checks them now.',
            )
          : html`All files were last read and found to match their manifests ${when(snapshotsCheckedAt, now)}.`
      }
    </p>`;
}

function bucketPart({ location, equalAt, files, behindSince, cause }: DestinationStanding, now: string): Markup {
  const last = equalAt === null ? 'never seen equal' : html`last seen equal ${when(equalAt, now)}`;
  if (behindSince === null)
    return html`<p>
      ${badge('well', 'follows')} <code>${location}</code>: ${countedText(files ?? 0, 'file')}, ${last}.
    </p>`;
  return html`<p>
    ${badge('attention', 'behind')} <code>${location}</code> since ${when(behindSince, now)}, ${last}:
    ${cause ?? 'a run is under way, or was ended'}.
  </p>`;
}

/** The ledger in a line. */
export function ledgerLine({ ledger }: ProjectContent, now: string): Markup | string {
  if (ledger === null || ledger === 'unreadable') return ledger === null ? 'none yet' : 'cannot be read';
  const { entries, checkpoint } = ledger;
  const counted = entries === null ? '' : countedText(entries, 'entry', 'entries');
  return checkpoint === null ? `${counted}, not signed yet` : html`${counted}, signed ${when(checkpoint.at, now)}`;
}

/** The ledger's newest entry and checkpoint. */
export function ledgerPart({ ledger }: ProjectContent, now: string): Markup {
  if (ledger === 'unreadable') return html`<p>${badge('broken', 'The ledger cannot be read.')}</p>`;
  if (ledger === null) return html`<p class="soft">There is no ledger yet. The first erasure request makes it.</p>`;
  const { entries, lastEntryAt, checkpoint } = ledger;
  const unsigned = entries === null || checkpoint === null ? null : entries - checkpoint.size;
  return html`<div class="card">
    ${figures([
      ['entries', entries === null ? '–' : countText(entries)],
      ['newest entry', when(lastEntryAt, now)],
      ['newest checkpoint', checkpoint === null ? 'none' : when(checkpoint.at, now)],
      ['not signed yet', unsigned === null ? '–' : countText(unsigned)],
    ])}
    ${
      checkpoint === null
        ? ''
        : html`<p class="small root">
            Root hash of the first ${countText(checkpoint.size)} entries, signed:
            <code>${checkpoint.root}</code>
          </p>`
    }
  </div>`;
}

/** The schedule in a line: what runs, or what is next. */
export function scheduleLine(jobs: readonly JobState[], now: string): Markup | string {
  const running = jobs.filter(({ runningSince }) => runningSince !== null);
  if (running.length > 0) return `running: ${running.map(({ job }) => job).join(', ')}`;
  const [next] = jobs.toSorted((a, b) => (a.nextAt < b.nextAt ? -1 : 1));
  return next === undefined ? 'nothing' : html`next: ${next.job} ${when(next.nextAt, now, nextText)}`;
}

/** The schedule: each job with its next and its last run. */
export function schedulePart(jobs: readonly JobState[], now: string): Markup {
  if (jobs.length === 0) return html`<p class="soft">Nothing is scheduled.</p>`;
  return table(
    'Schedule',
    ['Job', 'Next', 'Last began', 'Outcome', 'Last success', 'Schedule (UTC)'],
    jobs.map(
      ({ job, cron, nextAt, lastAt, lastOutcome, lastReason, lastSuccessAt, runningSince, consecutiveFailures }) => [
        job,
        runningSince === null ? when(nextAt, now, nextText) : badge('new', 'running'),
        when(lastAt, now),
        lastOutcome === null
          ? ''
          : html`${badge(looks[lastOutcome].mark, lastOutcome)}
            ${lastReason === null ? '' : codeText(lastReason)}${consecutiveFailures > 1 ? `, ${countText(consecutiveFailures)} times in a row` : ''}`,
        when(lastSuccessAt, now),
        html`<code>${cron}</code>`,
      ],
    ),
  );
}
