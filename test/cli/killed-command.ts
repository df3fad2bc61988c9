import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import type { Database } from '../../src/mirror/database.ts';
import { copyFolder } from './copy-folder.ts';
import { reading } from './erasure-workspace.ts';
import { pointText, type Execution, type KillPoint } from '../kill/kill-point.ts';
import { killRun, recordRun } from '../kill/killed-run.ts';
import { contradictionsIn } from './mirror-consistency.ts';
import { contentOf } from './mirror-content.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import type { Workspace } from './workspace.ts';

/** Runs a command on a data folder to its end. */
export type Run = (...args: string[]) => Promise<Ended>;

/**
 * Reconciles to the end. A kill between the entries of a deletion at the service and its rows leaves a request of which only the
 * ledger knows: it is told as lost, once, and the row is found again.
 */
export async function toldLostOnce(run: Run): Promise<Ended> {
  const ended = await run('reconcile', '--json');
  expect(jsonOf(ended)).toMatchObject({ lost: [], absence: { held: [] } });
  const { lostDeletions } = jsonOf(ended) as { lostDeletions: number };
  if (lostDeletions > 0) expect(ended).toMatchObject({ code: 4, stderr: '' });
  return lostDeletions > 0 ? run('reconcile') : ended;
}

/** A command that is killed, and what is run afterwards, however far it had come. The service stays as it is. */
export type KilledCommand = {
  workspace: Workspace;
  /** Arguments of every command. */
  settings: readonly string[];
  /** How many pages may be under way at once. */
  inFlightMax: number;
  /** The data folder that it begins with; null begins with none. */
  base: string | null;
  command: readonly string[];
  finish: (run: Run) => Promise<void>;
};

/** A run that was not killed: what the command executed, and the outcome that every killed run must reach too. */
export type Reference = { command: KilledCommand; executions: Execution[]; outcome: Outcome };

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

/** Runs a command without a kill. Pages that were under way at an earlier kill may be asked for once more. */
export async function referenceOf(command: KilledCommand, pagesLostMax = 0): Promise<Reference> {
  const copy = openCopy(command);
  const executions = await copy.record();
  await command.finish(copy.run);
  expect(copy.pagesLost()).toBeLessThanOrEqual(pagesLostMax);
  return { command, executions, outcome: copy.remove() };
}

/** The same command, on the data folder that a kill left. Fails unless the command was killed. */
export async function afterKill(command: KilledCommand, point: KillPoint): Promise<KilledCommand> {
  const copy = openCopy(command);
  await copy.kill(point);
  // It may have died before there was anything.
  return { ...command, base: existsSync(copy.dataDir) ? copy.dataDir : null };
}

/**
 * Kills a command at each of the points, one after the other, and then runs it to its end. Fails unless it died at each
 * point, reached the outcome of the reference, and lost no pages but those that were under way.
 */
export async function assertSurvives({ command, outcome }: Reference, points: readonly KillPoint[]): Promise<void> {
  const copy = openCopy(command);
  for (const point of points) await copy.kill(point);
  try {
    await command.finish(copy.run);
    expect(copy.pagesLost()).toBeLessThanOrEqual(points.length * command.inFlightMax);
    expect(copy.remove()).toEqual(outcome);
  } catch (cause) {
    throw new Error(`killed ${points.map(pointText).join(', then ')}`, { cause });
  }
}

function openCopy({ workspace, settings, inFlightMax, base, command }: KilledCommand) {
  const folder = mkdtempSync(join(workspace.folder, 'copy-'));
  const dataDir = join(folder, 'data');
  if (base !== null) copyFolder(base, dataDir);
  const windowsBefore = windowsOf(dataDir);
  workspace.sandbox.clearRequests();
  const around = ['--set', `budget.concurrency=${inFlightMax}`, ...settings, '--data-dir', dataDir];
  const args = [...command, ...around];
  return {
    dataDir,
    record: (): Promise<Execution[]> => recordRun(workspace.run, args, join(folder, 'executions.json')),
    kill: (point: KillPoint): Promise<void> => killRun(workspace.run, args, point),
    run: (...args: string[]) => workspace.run([...args, ...around]),
    /** Pages that the service served and no pass has. One row or 40 are asked for to see whether the service answers. */
    pagesLost: (): number => {
      const isPage = (limit: number | null): boolean => limit !== 1 && limit !== 40;
      const pages = workspace.sandbox.requests().filter(({ offset, limit }) => offset !== null && isPage(limit));
      return pages.length - (windowsOf(dataDir) - windowsBefore);
    },
    /** Removes the folder. Returns the outcome in it. */
    remove: (): Outcome => {
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
