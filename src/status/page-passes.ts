import { html } from 'hono/html';
import { datasets } from '../contract/datasets.ts';
import { defaultWindow, passRemarks, seenOfCount, type PassReport } from '../sync/pass-report.ts';
import type { ProjectContent } from './overview.ts';
import type { Markup } from '../markup/markup.ts';
import { badge, figures, remarkText, when, withCode, type Mark } from './page-parts.ts';
import { progressOf, progressText } from './pass-progress.ts';
import { codeText, countText, countedText, durationText } from '../core/words.ts';

const marks: Readonly<Record<PassReport['verdict'], Mark>> = {
  complete: 'well',
  incomplete: 'attention',
  running: 'new',
  unfinished: 'plain',
};

/** The meaning of each reason for which a pass is not complete. */
const reasonWords: Readonly<Record<string, string>> = {
  head: 'A head pass reads only the newest rows, so it proves nothing about the others. This is intended.',
  seam_not_joined: 'Two pages could not be joined, so the pass may have missed rows between them.',
  order_unstable: 'The order of the list kept changing, so the pass may have missed rows.',
  windows_limit: 'The pass did not find the end of the list within `sync.windowsMax` requests.',
  not_found: 'The service does not show each of the playlists.',
  no_progress:
    'The service showed the same rows again wherever a page began: it ignores or limits `offset`. It never showed the rows further down the list.',
  moment_too_large:
    'More rows are of one moment than one page can show, and the service showed them in changing order, so the pass may have missed rows.',
  count_not_reached: 'The list ended, but the service counts more rows than the pass has seen.',
  too_many_unreadable: 'More rows could not be read than the quarantine keeps, so the pass was ended.',
};

/** The newest pass of each list and mode: its verdict, and the evidence for it on a click. */
export function passRows(
  { passes, windows }: Pick<ProjectContent, 'passes' | 'windows'>,
  id: string,
  now: string,
): Markup {
  if (passes.length === 0) return html`<p class="soft">No pass has run yet.</p>`;
  return html`<div class="rows">
    ${passes.map((pass) => {
      const own = `${id}-${pass.dataset}-${pass.mode}`;
      return html`<details id="${own}">
        <summary class="row" id="${own}-summary">
          <span>${pass.dataset}, ${pass.mode === 'head' ? 'newest rows' : 'all rows'}</span>
          <span>${verdictBadge(pass, windows, now)}</span>
          <span class="small">${when(pass.finishedAt ?? pass.startedAt, now)}</span>
        </summary>
        ${evidence(pass, now)}
      </details>`;
    })}
    ${passRemarks(passes)
      // The card of the recordings says it.
      .filter(({ detail }) => detail !== defaultWindow.detail)
      .map((remark) => html`<p class="foot small">${withCode(remarkText(remark))}</p>`)}
  </div>`;
}

function verdictBadge(pass: PassReport, windows: ProjectContent['windows'], now: string): Markup {
  const { verdict, reason } = pass;
  // A head pass is never complete, and nothing is wrong with that.
  if (reason === 'head') return badge('well', 'done');
  if (verdict === 'running')
    return html`${badge('new', 'running')}
      <span class="small line">${progressText(progressOf(pass, windows, now), 'rows')}</span>`;
  const seen = seenOfCount(pass);
  return badge(marks[verdict], seen === null ? verdict : `${verdict}, ${seen} rows`);
}

/** The pages that were not joined and asked for again. */
function refusedText(count: number): string {
  return count > 0
    ? ` ${countedText(count, 'page', 'pages')} that could not be joined ${count === 1 ? 'does' : 'do'} not count.`
    : '';
}

/** What shows that a pass saw the whole list, or why nothing does. Commands and settings stand between backticks. */
function proofOf({ dataset, verdict, reason, windows, seams }: PassReport): string {
  if (verdict !== 'complete' && reason !== null) return reasonWords[reason] ?? codeText(reason);
  if (verdict === 'running') return 'The pass is running.';
  if (verdict !== 'complete')
    return 'The pass was interrupted. The next pass over this list continues it, or begins again.';
  if (datasets[dataset].list === null)
    return `The pass asked for each of its ${countedText(windows, 'configured item')} by its id, and got an answer for all.`;
  if (seams === 0) return 'The whole list came on one page, so no row can stand between two pages.';
  return `Each page that counts shares rows with the one before it, at ${countedText(seams, 'seam')}, so the pass missed no row between them.${refusedText(windows - seams - 1)}`;
}

function evidence(pass: PassReport, now: string): Markup {
  const { windows, seams, stepBacks, restarts, rounds, countReported, rowsReceived } = pass;
  return html`<div class="inside">
    <p>${withCode(proofOf(pass))}</p>
    ${figures([
      ['rows received', countText(rowsReceived)],
      ['different rows', countText(pass.rowsDistinct)],
      ['new', countText(pass.rowsAdded)],
      ['changed', countText(pass.rowsChanged)],
      ['put aside as unreadable', countText(pass.rowsQuarantined)],
      ['kept out as erased', countText(pass.rowsFenced)],
      ['count given by the service', countReported === null ? 'none' : countText(countReported)],
      ['pages asked for', countText(windows)],
      ['seams joined', countText(seams)],
      ['steps back', countText(stepBacks)],
      ['restarts', countText(restarts)],
      ['rounds', countText(rounds)],
      ['took', durationText(Date.parse(pass.finishedAt ?? now) - Date.parse(pass.startedAt))],
    ])}
  </div>`;
}
