import { html } from 'hono/html';
import type { PassReport } from '../sync/pass-report.ts';
import type { Markup } from '../markup/markup.ts';
import { badge, figures, when, withCode, type Mark } from './page-parts.ts';
import { codeText, countText, countedText, durationText } from '../core/words.ts';

const marks: Readonly<Record<PassReport['verdict'], Mark>> = {
  complete: 'well',
  incomplete: 'attention',
  running: 'new',
};

/** What each reason against a pass means. */
const reasonWords: Readonly<Record<string, string>> = {
  head: 'It looked only at what is new, and so proves nothing about the rest. That is what it is for.',
  seam_not_joined: 'Two pages of it could not be joined: rows between them may have been missed.',
  order_unstable: 'The list kept changing its order, so that rows may have been missed.',
  windows_limit: 'The end of the list was not found within `sync.windowsMax` requests.',
  not_found: 'The service had no such list.',
};

/** The newest pass of each list and kind: its verdict, and on a click the evidence for it. */
export function passRows(passes: readonly PassReport[], id: string, now: string): Markup {
  if (passes.length === 0) return html`<p class="soft">No pass has been made yet.</p>`;
  return html`<div class="rows">
    ${passes.map((pass) => {
      const own = `${id}-${pass.dataset}-${pass.mode}`;
      return html`<details id="${own}">
        <summary class="row" id="${own}-summary">
          <span>${pass.dataset}, ${pass.mode === 'head' ? 'what is new' : 'all'}</span>
          <span>${verdictBadge(pass)}</span>
          <span class="small">${when(pass.finishedAt ?? pass.startedAt, now)}</span>
        </summary>
        ${evidence(pass, now)}
      </details>`;
    })}
  </div>`;
}

function verdictBadge({ verdict, reason }: PassReport): Markup {
  // A look at what is new is never complete, and nothing is wrong with that.
  if (reason === 'head') return badge('well', 'done');
  return badge(marks[verdict], verdict);
}

function evidence(pass: PassReport, now: string): Markup {
  const { verdict, reason, windows, seams, stepBacks, restarts, rounds, countReported, rowsReceived } = pass;
  const doubt =
    pass.assumptions.countReached === false
      ? ' Yet the service counts more rows than it has shown: its list may have ended too early.'
      : '';
  const proof =
    verdict === 'complete'
      ? `Each of its ${countedText(windows, 'page')} shares rows with the one before it: no row between them was missed.${doubt}`
      : reason === null
        ? 'It is under way.'
        : (reasonWords[reason] ?? codeText(reason));
  return html`<div class="inside">
    <p>${withCode(proof)}</p>
    ${figures([
      ['rows received', countText(rowsReceived)],
      ['new', countText(pass.rowsAdded)],
      ['changed', countText(pass.rowsChanged)],
      ['put aside as unreadable', countText(pass.rowsQuarantined)],
      ['kept out as erased', countText(pass.rowsFenced)],
      ['count given by the service', countReported === null ? 'none' : countText(countReported)],
      ['pages', countText(windows)],
      ['seams joined', countText(seams)],
      ['steps back', countText(stepBacks)],
      ['begun again', countText(restarts)],
      ['rounds', countText(rounds)],
      ['took', durationText(Date.parse(pass.finishedAt ?? now) - Date.parse(pass.startedAt))],
    ])}
  </div>`;
}
