import { pagedDatasets } from '../contract/datasets.ts';
import type { Database } from '../mirror/database.ts';
import { lastJudgedPass } from '../mirror/passes.ts';
import { defaultWindow, largeMomentOf, momentWords } from '../sync/pass-report.ts';
import type { Found } from './check.ts';

/** Whether the list of recordings may be limited to the service's own default of days, as far as the last pass shows. */
export function recordingsWindow(db: Database | null): Found {
  const isLimited = (db && lastJudgedPass(db, 'recordings'))?.isDefaultWindow ?? true;
  return isLimited
    ? { state: 'warning', ...defaultWindow }
    : 'the last full pass saw recordings of more than 30 days ago';
}

/** Whether the last full passes had to trust the service with the order of rows of one moment. */
export function checkMoments(db: Database): Found {
  const passes = pagedDatasets.flatMap((dataset) => lastJudgedPass(db, dataset) ?? []);
  for (const pass of passes) {
    const moment = largeMomentOf(pass);
    if (moment !== null) return { state: 'warning', ...momentWords(pass, moment) };
  }
  return passes.length === 0
    ? 'no full pass has ended yet; `sync` makes one'
    : 'the last full passes showed the rows of each moment on one page';
}
