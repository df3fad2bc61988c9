import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { growYoungGeneration } from '../core/heap.ts';
import { microsToIso } from '../core/time.ts';
import { countText } from '../core/words.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import { extraQueryOf } from '../config/settings.ts';
import {
  findUnfinishedPass,
  finishPass,
  markDefaultWindow,
  prepareSavePass,
  startPass,
  type IncompleteReason,
  type Pass,
  type PassMode,
} from '../mirror/passes.ts';
import { beginFirstPass } from '../mirror/first-pass.ts';
import { openFingerprints } from '../mirror/fingerprints.ts';
import { nominateSuspects } from '../mirror/suspects.ts';
import { prepareWriteRows } from '../mirror/write-rows.ts';
import { prepareNameKnown, prepareReadRows, readPage, type Page } from './page.ts';
import { walk, type TakenPage, type WalkParts } from './walk.ts';
import { beginWalk, judgePage, type WalkStep } from './walk-plan.ts';
import { widestRowsOf, type WalkPlan } from './walk-windows.ts';
import { parseWalkState, type WalkState, type Window } from './walk-state.ts';
import { transact } from '../mirror/transact.ts';
import type { ServiceContext } from '../job/job-context.ts';

/** What a pass over a list needs. */
export type SyncListParts = Pick<ServiceContext, 'db' | 'service' | 'settings' | 'clock' | 'signal'> & {
  dataset: PagedDataset;
  mode: PassMode;
  /** Whether an unfinished pass is taken up again, when it is young enough and was walked by the same plan and program. */
  resume: boolean;
  /** Where this run has begun the pass and has then given way: since when the pass stands still. Only that counts for its age. */
  stoodStillSinceMs?: number | undefined;
  onProgress: WalkParts['onProgress'];
  /** Reads every row and keeps every index: the reference that tests hold fingerprints and first passes against. */
  isReference?: boolean;
};

/** A list that shows an older row than this is not limited to a service's own default of days: live services show three. */
const defaultDaysMax = 30;

/** Makes one pass over a list and returns it, ended, with its verdict. Only a complete pass nominates unseen rows. */
export async function syncList(parts: SyncListParts): Promise<Pass> {
  const { dataset, mode, db, service, settings, clock, signal, onProgress, isReference = false } = parts;
  growYoungGeneration(true);
  const { pageSize, overlap } = settings[dataset];
  const { windowsMax } = settings.sync;
  const plan: WalkPlan = { pageSize, widestRows: widestRowsOf(pageSize), overlap, windowsMax, restartsMax, roundsMax };
  const extraQuery = extraQueryOf(settings, dataset);
  const { passId, state } = beginOrResume(parts, plan, JSON.stringify({ ...plan, query: extraQuery }));
  const fingerprints = isReference ? undefined : openFingerprints(db, dataset, settings.service.jsonDepthMax);
  const firstPass = beginFirstPass(db, dataset, { isFull: mode === 'full' && !isReference });
  const { findRowKey } = firstPass;
  const readJson = fingerprints && prepareReadRows(dataset, fingerprints, findRowKey);
  const nameKnown = prepareNameKnown(db, dataset, findRowKey);
  // Of what was kept out before a pass was taken up again, the last page is still known. In a later round, nothing would tell the rest
  // from new rows.
  const keptOut = new Set(state.previous?.rows.map(({ key }) => key));
  const isWhole = state.evidence.windows === 0;
  const writeRows = prepareWriteRows(db, dataset, { fingerprints, firstPass, keptOut });
  const savePass = prepareSavePass(db, passId);
  const fetchPage = async (query: Window, abort: AbortSignal): Promise<Page> => {
    try {
      const { body } = await service.call(datasets[dataset].list, {
        query,
        extraQuery,
        priority: mode,
        signal: abort,
        ...(readJson ? { readJson } : {}),
      });
      return readPage(body, query, dataset, plan.pageSize);
    } catch (error) {
      throw error instanceof AppError && error.code === 'oversize' ? tooLargeAt(dataset, query, error) : error;
    }
  };
  const endPass = (found: IncompleteReason | null, oldest: string | null): Pass => {
    // The newest rows are no proof of the list, even where it ends among them.
    const reason = found ?? (mode === 'head' ? 'head' : null);
    const at = isoTime(clock.now());
    firstPass.end();
    const shownSince = oldest === null ? null : microsToIso(Number(oldest));
    const oldDay = isoTime(clock.now() - defaultDaysMax * 86_400_000);
    const isUnlimited = datasets[dataset].showsAll || 'date_from' in extraQuery || mode === 'head';
    if (!isUnlimited && !(shownSince !== null && shownSince < oldDay)) markDefaultWindow(db, passId);
    const pass = finishPass(db, passId, reason, at);
    // Any other first day is left to the service.
    const days = /^-(\d{1,5})d$/.exec(String(extraQuery['date_from']))?.[1];
    const listedSince = days === undefined ? null : isoTime(clock.now() - Number(days) * 86_400_000);
    if (pass.verdict === 'complete') nominateSuspects(db, dataset, passId, { at, shownSince, listedSince });
    return pass;
  };
  let ended: Pass | undefined;
  /** Writes a page in one transaction: its rows, the evidence and the cursor are kept all or nothing. */
  const takePage = ({ rows, quarantined, sent, view }: Page, from: WalkState): TakenPage =>
    transact(db, () => {
      const shown = { rows, quarantined, sent, at: isoTime(clock.now()) };
      const { outcome, newRows, newKeptOut } = writeRows(shown, passId);
      const isToldApart = isWhole || from.evidence.rounds === 1;
      const seenFirst = newRows + (isToldApart ? newKeptOut : 0);
      const judged = judgePage(plan, from, nameKnown(view, from.previous), seenFirst);
      const step: WalkStep = outcome.isQuarantineFull
        ? { next: 'end', state: judged.state, reason: 'too_many_unreadable' }
        : judged;
      savePass(step.state.evidence, outcome, JSON.stringify(step.state));
      // With the last page: a pass that was killed between the two would walk beyond the end of its list.
      if (step.next === 'end') ended = endPass(step.reason, step.state.oldest);
      return { outcome, step };
    });
  const reason = await walk(
    {
      plan,
      inFlightMax: settings.budget.concurrency,
      fetchPage,
      takePage,
      unchangedRowsMax: mode === 'head' ? settings.sync.headUnchangedRows : null,
      onProgress,
      signal,
    },
    state,
  );
  return ended ?? endPass(reason, null);
}

/** The error for an answer that is too large, with the place in the list where it is. The walk then asks for fewer rows. */
function tooLargeAt(dataset: PagedDataset, { offset, limit }: Window, cause: AppError): AppError {
  return new AppError(
    `${dataset} ${countText(offset + 1)} to ${countText(offset + limit)} of the list: ${cause.message}`,
    {
      code: 'oversize',
      hint: 'raise service.bodyBytesMax, or make the very large row smaller at the service; the rows before these are in the mirror',
      cause,
    },
  );
}

/** A pass ends incomplete if it has to go back to the start of its list more often than this. */
const restartsMax = 3;
/** A list that is not newest first is walked until a whole round brings no new row, in at most so many rounds. */
const roundsMax = 5;

/** An unfinished pass is taken up again if it began within so long, or has given way to others for no longer. */
const resumedWithinMs = 24 * 3_600_000;

function beginOrResume(
  { dataset, mode, resume, stoodStillSinceMs, db, clock }: SyncListParts,
  plan: WalkPlan,
  planText: string,
): { passId: number; state: WalkState } {
  const isOwn = stoodStillSinceMs !== undefined;
  const unfinished = resume || isOwn ? findUnfinishedPass(db, dataset, mode) : undefined;
  const oldestMs = clock.now() - resumedWithinMs;
  if (unfinished?.plan === planText && (stoodStillSinceMs ?? Date.parse(unfinished.startedAt)) >= oldestMs) {
    const state = unfinished.cursor === null ? beginWalk(plan) : parseWalkState(unfinished.cursor);
    if (state) return { passId: unfinished.id, state };
  }
  return { passId: startPass(db, { dataset, mode, plan: planText, at: isoTime(clock.now()) }), state: beginWalk(plan) };
}
