import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { copyFolder } from './copy-folder.ts';
import { pointText, type Execution, type KillPoint } from './kill-point.ts';
import { killRun, rehearseRun } from './killed-run.ts';
import { contradictionsIn } from './mirror-consistency.ts';
import { contentOf } from './mirror-content.ts';
import type { Ended } from './run-cli.ts';
import type { Workspace } from './workspace.ts';

/** Runs a command on a data folder to its end. */
export type Run = (...args: string[]) => Promise<Ended>;

/** A command that is killed, and what is run afterwards, however far it had come. The service stays as it is. */
export type Story = {
  place: Workspace;
  /** Arguments of every command. */
  settings: readonly string[];
  /** How many pages may be under way at once. */
  inFlightMax: number;
  /** The data folder that it begins with; null begins with none. */
  base: string | null;
  command: readonly string[];
  finish: (run: Run) => Promise<void>;
};

/** A story that was told without a kill: what its command executed, and what every other telling must come to. */
export type Rehearsed = { story: Story; executions: Execution[]; outcome: Outcome };

/**
 * The mirror's rows, everything that the feeds tell, and the evidence of complete passes: one that was killed and taken
 * up again has seen each page once, as if nothing had been.
 */
type Outcome = {
  content: Record<string, unknown[][]>;
  changes: unknown[][];
  deletions: unknown[][];
  evidence: unknown[][];
};

/** Tells a story without a kill. Pages that were under way at a kill before may still be asked for, and are lost. */
export async function rehearse(story: Story, pagesLostMax = 0): Promise<Rehearsed> {
  const stage = openStage(story);
  const executions = await stage.rehearse();
  await story.finish(stage.run);
  expect(stage.pagesLost()).toBeLessThanOrEqual(pagesLostMax);
  return { story, executions, outcome: stage.strike() };
}

/** The same story, beginning where its command was killed. Fails unless it was. */
export async function afterKill(story: Story, point: KillPoint): Promise<Story> {
  const stage = openStage(story);
  await stage.kill(point);
  // It may have died before there was anything.
  return { ...story, base: existsSync(stage.dataDir) ? stage.dataDir : null };
}

/**
 * Tells a story whose command dies at each of the points, one time after the other, before it is run to its end. Fails
 * unless it died at each, came to the same outcome, and lost no page but those under way.
 */
export async function assertSurvives(
  { story, outcome }: Rehearsed,
  points: readonly KillPoint[],
): Promise<void> {
  const stage = openStage(story);
  for (const point of points) await stage.kill(point);
  try {
    await story.finish(stage.run);
    expect(stage.pagesLost()).toBeLessThanOrEqual(points.length * story.inFlightMax);
    expect(stage.strike()).toEqual(outcome);
  } catch (cause) {
    throw new Error(`killed ${points.map(pointText).join(', then ')}`, { cause });
  }
}

function openStage({ place, settings, inFlightMax, base, command }: Story) {
  const folder = mkdtempSync(join(place.folder, 'stage-'));
  const dataDir = join(folder, 'data');
  if (base !== null) copyFolder(base, dataDir);
  const windowsBefore = windowsOf(dataDir);
  place.sandbox.clearRequests();
  const around = ['--set', `budget.concurrency=${inFlightMax}`, ...settings, '--data-dir', dataDir];
  const args = [...command, ...around];
  return {
    dataDir,
    rehearse: (): Promise<Execution[]> => rehearseRun(place.run, args, join(folder, 'executions.json')),
    kill: (point: KillPoint): Promise<void> => killRun(place.run, args, point),
    run: (...args: string[]) => place.run([...args, ...around]),
    /** Pages that the service served and no pass has. One row alone is asked for to see whether the service answers. */
    pagesLost: (): number => {
      const pages = place.sandbox.requests().filter(({ offset, limit }) => offset !== null && limit !== 1);
      return pages.length - (windowsOf(dataDir) - windowsBefore);
    },
    /** What has come of it; the folder goes. */
    strike: (): Outcome => {
      const outcome = reading(dataDir, (db) => outcomeOf(db, dataDir));
      rmSync(folder, { recursive: true });
      return outcome;
    },
  };
}

function outcomeOf(db: Database, dataDir: string): Outcome {
  expect(contradictionsIn(db)).toEqual([]);
  const rows = (sql: string): unknown[][] => db.prepare<[], unknown[]>(sql).raw().all();
  return {
    content: contentOf(dataDir),
    changes: rows(`SELECT dataset, key, op FROM changes ORDER BY 1, 2, 3`),
    deletions: rows(`SELECT dataset, key, reason FROM deletions ORDER BY 1, 2, 3`),
    evidence: rows(`SELECT DISTINCT dataset, windows, seams, step_backs, restarts, rounds, rows_received
      FROM passes WHERE verdict = 'complete' ORDER BY 1, 2, 3`),
  };
}

/** How many pages of lists the passes have. */
function windowsOf(dataDir: string): number {
  const sum = `SELECT coalesce(sum(windows), 0) FROM passes WHERE dataset <> 'playlists'`;
  try {
    return reading(dataDir, (db) => db.prepare<[], number>(sum).pluck().get() ?? 0);
  } catch (error) {
    // Killed before there was a mirror.
    if (error instanceof AppError && error.code === 'storage') return 0;
    throw error;
  }
}

function reading<T>(dataDir: string, read: (db: Database) => T): T {
  const db = openDatabaseReadOnly(dataDir);
  try {
    return read(db);
  } finally {
    db.close();
  }
}
