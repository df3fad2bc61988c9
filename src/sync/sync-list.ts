import { isoTime, type Clock } from '../core/clock.ts';
import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { nominateSuspects } from '../mirror/suspects.ts';
import { rowReaders } from '../mirror/row-readers.ts';
import { rowTables } from '../mirror/row-table.ts';
import {
  findUnfinishedPass,
  finishPass,
  startPass,
  type IncompleteReason,
  type Pass,
  type PassMode,
} from '../mirror/passes.ts';
import { readPage, type WalkedList } from './page.ts';
import { walk, type WalkParts } from './walk.ts';
import { beginWalk, type WalkPlan } from './walk-plan.ts';
import { parseWalkState, type WalkState, type Window } from './walk-state.ts';

/** The lists of the service that are paged. */
export type ListDataset = 'persons' | 'recordings';

/** What a pass over a list needs. */
export type SyncListParts = {
  dataset: ListDataset;
  mode: PassMode;
  /** Whether an unfinished pass is taken up again, when it is young enough and was walked by the same plan and program. */
  resume: boolean;
  db: Database;
  service: Service;
  settings: Settings;
  clock: Clock;
  signal: AbortSignal;
  onProgress: WalkParts['onProgress'];
};

/** The columns that newest-first lists are sorted by. */
const timeColumns: Readonly<Record<ListDataset, string>> = {
  persons: 'created_at',
  recordings: 'start_time',
};

/**
 * Makes one pass over a list and returns it, ended, with its verdict. Only a complete pass nominates the rows that it
 * did not see.
 */
export async function syncList(parts: SyncListParts): Promise<Pass> {
  const { dataset, mode, db, service, settings, clock, signal, onProgress } = parts;
  const list: WalkedList = {
    keyColumn: rowTables[dataset].keyColumn,
    timeColumn: timeColumns[dataset],
    read: rowReaders[dataset],
  };
  const plan = planOf(settings, dataset);
  const query = dataset === 'recordings' ? settings.recordings.query : {};
  const { passId, state } = beginOrResume(parts, plan, JSON.stringify({ ...plan, query }));
  const commit = preparePageCommit(db, dataset, passId);
  const fetchPage = async (window: Window, abort: AbortSignal) => {
    const args = { query: window, extraQuery: query, priority: mode, signal: abort };
    const { body } = await service.call(`${dataset}.list`, args);
    return readPage(body, window, list);
  };
  const end = (why: IncompleteReason | null): Pass => {
    const at = isoTime(clock.now());
    const pass = finishPass(db, passId, why, at);
    if (pass.verdict === 'complete') nominateSuspects(db, dataset, passId, at);
    return pass;
  };
  let ended: Pass | undefined;
  const reason = await walk(
    {
      plan,
      inFlightMax: settings.budget.concurrency,
      fetchPage,
      commitPage: ({ rows, quarantined }, judge) => {
        const { outcome, judged } = commit({ rows, quarantined, at: isoTime(clock.now()) }, (newRows) => {
          const step = judge(newRows);
          // With the last page: a pass that was killed between the two would walk beyond the end of its list.
          const also = (): void => {
            if (step.next === 'end') ended = end(step.reason);
          };
          return { step, evidence: step.state.evidence, cursor: JSON.stringify(step.state), also };
        });
        return { outcome, step: judged.step };
      },
      unchangedRowsMax: mode === 'head' ? settings.sync.headUnchangedRows : null,
      onProgress,
      signal,
    },
    state,
  );
  return ended ?? end(reason);
}

function planOf(settings: Settings, dataset: ListDataset): WalkPlan {
  const { pageSize, overlap } = settings[dataset];
  const { windowsMax, restartsMax, roundsMax } = settings.sync;
  return { pageSize, overlap, windowsMax, restartsMax, roundsMax };
}

function beginOrResume(
  { dataset, mode, resume, db, settings, clock }: SyncListParts,
  plan: WalkPlan,
  planText: string,
): { passId: number; state: WalkState } {
  const unfinished = resume ? findUnfinishedPass(db, dataset, mode) : undefined;
  const oldestMs = clock.now() - settings.sync.resumeHoursMax * 3_600_000;
  if (unfinished?.plan === planText && Date.parse(unfinished.started_at) >= oldestMs) {
    const state = unfinished.cursor === null ? beginWalk(plan) : parseWalkState(unfinished.cursor);
    if (state) return { passId: unfinished.id, state };
  }
  return {
    passId: startPass(db, { dataset, mode, plan: planText, at: isoTime(clock.now()) }),
    state: beginWalk(plan),
  };
}
