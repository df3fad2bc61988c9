import { z } from 'zod';
import type { Budget } from '../client/budget.ts';
import type { BudgetStanding } from '../client/budget-standing.ts';
import type { Service } from '../client/service.ts';
import { extraQueryOf, type Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { datasets, pagedDatasets, type MirroredDataset, type PagedDataset } from '../contract/datasets.ts';
import type { Database } from '../mirror/database.ts';
import { lastJudgedPass } from '../mirror/passes.ts';
import { countTable } from '../mirror/read-rows.ts';
import { cutMin, overlapOf } from '../sync/walk-windows.ts';

/** The cost of a full pass over one dataset. Values are null where the number of rows is unknown. */
type PassForecast = {
  dataset: MirroredDataset;
  rows: number | null;
  /** The source of that number; `settings` for playlists, which are configured. */
  rowsFrom: 'service' | 'mirror' | 'settings' | null;
  /** The least: a list that changes during the pass costs more. */
  requests: number | null;
  /** From the end of the pass before to the end of this one, as fast as the budget allows: at least so long. */
  seconds: number | null;
  /** ISO 8601 UTC. */
  finishAt: string | null;
};

/** The cost of full passes over all datasets, one after the other, beginning now. */
export type PassPlan = {
  /** Requests that may be made at once; null without windows. */
  requestsLeft: number | null;
  /** What answers 429 have taught about the budget. */
  budget: BudgetStanding;
  passes: PassForecast[];
  requests: number;
  seconds: number;
  finishAt: string;
};

/** The rows of each list in the mirror; null where no full pass has ended, so that most may be missing. */
export type WalkedRows = Record<PagedDataset, number | null>;

/** Counts the rows of each list in the mirror. */
export function walkedRows(db: Database): WalkedRows {
  const count = (dataset: PagedDataset): number | null =>
    lastJudgedPass(db, dataset) ? countTable(db, dataset) : null;
  return { persons: count('persons'), recordings: count('recordings') };
}

/** The sources of a forecast. `mirrorRows`: as `walkedRows` counts them; null where there is no mirror yet. */
export type PlanParts = {
  settings: Settings;
  service: Service;
  budget: Pick<Budget, 'left' | 'usedUpUntilMs' | 'forecast' | 'standing'>;
  mirrorRows: WalkedRows | null;
  signal: AbortSignal;
  nowMs: () => number;
};

/** Forecasts full passes. Asks for the rows of each list, or takes the mirror's counts where the budget is used up. */
export async function planPasses(parts: PlanParts): Promise<PassPlan> {
  const { settings, budget, nowMs } = parts;
  const playlists = settings.playlists.shortIds.length;
  const counted: CountedList[] = [];
  for (const dataset of pagedDatasets) counted.push(await countList(parts, dataset));
  // One request for the playlist, one for the recordings in it.
  counted.push({ dataset: 'playlists', rows: playlists, rowsFrom: 'settings', requests: playlists * 2 });
  const finishesMs = await budget.forecast(
    counted.map(({ dataset, requests }) => ({ lane: datasets[dataset].lane, requests: requests ?? 0 })),
  );
  // After the forecast: else the milliseconds that it took would be told as a second.
  const startedAtMs = nowMs();
  const passes = counted.map(({ dataset, rows, rowsFrom, requests }, index): PassForecast => {
    const finishMs = finishesMs[index] ?? startedAtMs;
    const beganMs = finishesMs[index - 1] ?? startedAtMs;
    const [seconds, finishAt] =
      requests === null ? [null, null] : [secondsBetween(beganMs, finishMs), isoTime(finishMs)];
    return { dataset, rows, rowsFrom, requests, seconds, finishAt };
  });
  const finishMs = finishesMs.at(-1) ?? startedAtMs;
  return {
    requestsLeft: await budget.left('general'),
    budget: await budget.standing(),
    passes,
    requests: passes.reduce((sum, { requests }) => sum + (requests ?? 0), 0),
    seconds: secondsBetween(startedAtMs, finishMs),
    finishAt: isoTime(finishMs),
  };
}

/** How many windows a pass over so many rows needs without stepping back, with the one that confirms the end: an only page with a count has none. */
export function windowsForRows(rows: number, pageSize: number, overlap: number, isCounted: boolean): number {
  const further = Math.ceil(Math.max(0, rows - pageSize) / Math.max(1, pageSize - overlap));
  const isWhole = isCounted ? further === 0 : rows < Math.min(pageSize, cutMin);
  return isWhole ? 1 : further + 2;
}

const Counted = z.object({ count: z.int().min(0) });

type CountedList = Pick<PassForecast, 'dataset' | 'rows' | 'rowsFrom' | 'requests'>;

async function countList(parts: PlanParts, dataset: PagedDataset): Promise<CountedList> {
  const { settings, mirrorRows } = parts;
  const told = Counted.safeParse(await askFirstRow(parts, dataset));
  const rows = told.success ? told.data.count : (mirrorRows?.[dataset] ?? null);
  const rowsFrom = told.success ? 'service' : rows === null ? null : 'mirror';
  const { pageSize, overlap } = settings[dataset];
  const requests =
    rows === null
      ? null
      : // No pass makes more.
        Math.min(settings.sync.windowsMax, windowsForRows(rows, pageSize, overlapOf(overlap, pageSize), told.success));
  return { dataset, rows, rowsFrom, requests };
}

/** The service's answer for one row of a list; undefined where the budget is used up. */
async function askFirstRow({ settings, service, budget, signal }: PlanParts, dataset: PagedDataset): Promise<unknown> {
  const { lane, list } = datasets[dataset];
  if ((await budget.usedUpUntilMs(lane)) !== null) return undefined;
  const query = { limit: 1, offset: 0 };
  const extraQuery = extraQueryOf(settings, dataset);
  const ask = async (more: object): Promise<unknown> =>
    (await service.call(list, { query, extraQuery: { ...extraQuery, ...more }, signal })).body;
  if (dataset !== 'persons') return ask({});
  try {
    return await ask(askForTotal);
  } catch (error) {
    // A service may refuse what it does not know.
    if (error instanceof AppError && error.status === 400) return ask({});
    throw error;
  }
}

/**
 * With it a live service counts its persons, which costs it time: so only a forecast sends it. Its presence counts, not its
 * value. It is in the public service's source, and not in its documentation.
 */
const askForTotal = { include_total: 'true' };

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, Math.ceil((toMs - fromMs) / 1000));
}
