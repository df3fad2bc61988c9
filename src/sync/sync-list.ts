import { isoTime, type Clock } from '../core/clock.ts';
import { Person, Recording } from '../contract/resources.ts';
import { tolerantReader } from '../contract/tolerant-reader.ts';
import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { preparePageCommit } from '../mirror/page.ts';
import { nominateSuspects } from '../mirror/suspects.ts';
import { mirrored } from '../mirror/write-rows.ts';
import { findUnfinishedPass, finishPass, startPass, type Pass, type PassMode } from '../mirror/passes.ts';
import { readPage, type WalkedList } from './page.ts';
import { personUuidOf } from './person-of-recording.ts';
import { walk, type WalkProgress } from './walk.ts';
import { beginWalk, type WalkPlan, type WalkState, type Window } from './walk-plan.ts';

/** The lists of the service that are paged. */
export type ListDataset = 'persons' | 'recordings';

/** What a pass over a list needs. */
export type SyncListParts = {
  dataset: ListDataset;
  mode: PassMode;
  /** Whether an unfinished pass is taken up again, when it is young enough and was walked by the same plan. */
  resume: boolean;
  db: Database;
  service: Service;
  settings: Settings;
  clock: Clock;
  signal: AbortSignal;
  onProgress: (progress: WalkProgress) => void;
};

const lists: Record<ListDataset, WalkedList> = {
  persons: {
    keyColumn: mirrored.persons.keyColumn,
    timeColumn: 'created_at',
    read: tolerantReader(Person, mirrored.persons.keyColumn),
  },
  recordings: {
    keyColumn: mirrored.recordings.keyColumn,
    timeColumn: 'start_time',
    read: tolerantReader(Recording, mirrored.recordings.keyColumn),
    derive: (row) => ({ person_uuid: personUuidOf(row) }),
  },
};

/**
 * Makes one pass over a list and returns it, ended, with its verdict. Only a complete pass nominates the rows that it
 * did not see.
 */
export async function syncList(parts: SyncListParts): Promise<Pass> {
  const { dataset, mode, db, service, settings, clock, signal, onProgress } = parts;
  const list = lists[dataset];
  const plan = planOf(settings, dataset);
  const query = dataset === 'recordings' ? settings.recordings.query : {};
  const { passId, state } = beginOrResume(parts, plan, JSON.stringify({ ...plan, query }));
  const commit = preparePageCommit(db, dataset, passId);
  const fetchPage = async (window: Window, abort: AbortSignal) => {
    const args = { query: window, extraQuery: query, priority: mode, signal: abort };
    const reply = await (dataset === 'persons'
      ? service.call('persons.list', args)
      : service.call('recordings.list', args));
    return readPage(reply.body, window, list);
  };
  const reason = await walk(
    {
      plan,
      inFlightMax: settings.budget.concurrency,
      fetchPage,
      commitPage: ({ rows, quarantined }, judge) => {
        const { outcome, judged } = commit({ rows, quarantined, at: isoTime(clock.now()) }, (newRows) => {
          const step = judge(newRows);
          return { step, evidence: step.state.evidence, cursor: JSON.stringify(step.state) };
        });
        return { outcome, step: judged.step };
      },
      unchangedRowsMax: mode === 'head' ? settings.sync.headUnchangedRows : null,
      onProgress,
      signal,
    },
    state,
  );
  const at = isoTime(clock.now());
  return db
    .transaction(() => {
      const pass = finishPass(db, passId, reason, at);
      if (pass.verdict === 'complete') nominateSuspects(db, dataset, passId, at);
      return pass;
    })
    .immediate();
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
    const state = unfinished.cursor === null ? beginWalk(plan) : (JSON.parse(unfinished.cursor) as WalkState);
    return { passId: unfinished.id, state };
  }
  return {
    passId: startPass(db, { dataset, mode, plan: planText, at: isoTime(clock.now()) }),
    state: beginWalk(plan),
  };
}
