import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { mirroredDatasets, type MirroredDataset } from '../contract/datasets.ts';
import { transact } from './transact.ts';
import { assignmentsOf, columnsAs } from './tables.ts';

/** `full` walks to the end of the list, `head` only as far as something is new. */
export const passModes = ['full', 'head'] as const;
export type PassMode = (typeof passModes)[number];

/** The reasons for which a pass is incomplete. */
const incompleteReasons = [
  'head',
  'seam_not_joined',
  'order_unstable',
  'windows_limit',
  'superseded',
  'not_found',
  'no_progress',
  'moment_too_large',
  'count_not_reached',
  'too_many_unreadable',
] as const;
export type IncompleteReason = (typeof incompleteReasons)[number];

/**
 * Why a pass was not told the entries of a playlist: the list was cut, the service refuses it to the key, its answer holds no
 * list, or it does not know the playlist.
 */
const untoldReasons = ['cut', 'refused', 'no_list', 'not_found'] as const;
const UntoldEntries = z.strictObject({ shortId: z.string(), reason: z.enum(untoldReasons) });
/** A playlist whose entries a pass was not told. */
export type UntoldEntries = z.infer<typeof UntoldEntries>;

/** The evidence of a pass so far. */
export const PassEvidence = z.strictObject({
  windows: z.int(),
  seams: z.int(),
  stepBacks: z.int(),
  restarts: z.int(),
  rounds: z.int(),
  countReported: z.int().nullable(),
  /** The rows that the pass has seen, each counted once. Rows that are not stored may count more than once. */
  rowsDistinct: z.int(),
  /** The rows of the largest moment that fits into no window, so that pages had to be joined inside it; 0 for none. */
  momentRows: z.int(),
  isOrdered: z.boolean(),
});
export type PassEvidence = z.infer<typeof PassEvidence>;

/** The evidence before the first page. */
export const noEvidence: PassEvidence = {
  windows: 0,
  seams: 0,
  stepBacks: 0,
  restarts: 0,
  rounds: 1,
  countReported: null,
  rowsDistinct: 0,
  momentRows: 0,
  isOrdered: true,
};

/** The counts of rows that one page adds to its pass. */
export type PageCounts = {
  received: number;
  added: number;
  changed: number;
  quarantined: number;
  /** Of people who were erased: kept out by the fence. */
  fenced: number;
  /** Of these, those whose person holds a fenced distinct id and came after the erasure. */
  cameAfter: number;
  /** Of people who were known before an erasure and hold a distinct id of it: let in without that. */
  trimmed: number;
};

/** The plan of a pass over playlists: those that it asks for. */
const PlaylistPlan = z.object({ shortIds: z.array(z.string()) });

const flag = z.union([z.literal(0), z.literal(1)]).transform((value) => value === 1);

const PassRow = z.object({
  id: z.int(),
  dataset: z.enum(mirroredDatasets),
  mode: z.enum(passModes),
  plan: z.string(),
  verdict: z.enum(['complete', 'incomplete']).nullable(),
  reason: z.enum(incompleteReasons).nullable(),
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
  ...PassEvidence.shape,
  /** The sums of `PageCounts`. */
  rowsReceived: z.int(),
  rowsAdded: z.int(),
  rowsChanged: z.int(),
  rowsQuarantined: z.int(),
  rowsFenced: z.int(),
  rowsCameAfter: z.int(),
  rowsTrimmed: z.int(),
  isOrdered: flag,
  /** Whether the service may have shown only its own default of days. */
  isDefaultWindow: flag,
  /** The playlists whose entries it was not told. */
  untold: z.string().transform((text) => z.array(UntoldEntries).parse(JSON.parse(text))),
  cursor: z.string().nullable(),
});

/** A pass in the mirror. */
export type Pass = z.infer<typeof PassRow>;

const columns = columnsAs(Object.keys(PassRow.shape));

/** The passes of each dataset and mode that are kept: two weeks of a head pass every 15 minutes is 1,344. */
const passesKept = 2_000;

/**
 * Begins a pass and returns its id. An unfinished pass of the same dataset and mode ends as superseded. Passes of them that
 * are too many are removed, the newest complete one and the newest with a verdict never.
 */
export function startPass(
  db: Database,
  pass: { dataset: MirroredDataset; mode: PassMode; plan: string; at: string },
  kept = passesKept,
): number {
  const removeOld = /*sql*/ `DELETE FROM passes WHERE dataset = @dataset AND mode = @mode AND verdict IS NOT NULL
      AND id <= (SELECT id FROM passes WHERE dataset = @dataset AND mode = @mode ORDER BY id DESC LIMIT 1 OFFSET @kept - 1)
      AND id NOT IN (SELECT max(id) FROM passes WHERE dataset = @dataset AND mode = @mode
        AND verdict IS NOT NULL AND reason IS NOT 'superseded' GROUP BY verdict)`;
  return transact(db, () => {
    db.prepare(removeOld).run({ ...pass, kept });
    db.prepare(/*sql*/ `UPDATE passes SET verdict = 'incomplete', reason = 'superseded', finished_at = @at, cursor = NULL
      WHERE dataset = @dataset AND mode = @mode AND verdict IS NULL`).run(pass);
    const insert = /*sql*/ `INSERT INTO passes (dataset, mode, plan, started_at) VALUES (@dataset, @mode, @plan, @at)`;
    return Number(db.prepare(insert).run(pass).lastInsertRowid);
  });
}

/** The passes that a condition, with its order, holds for. */
function selectPasses(db: Database, where: string, ...values: string[]): Pass[] {
  const rows = db.prepare(/*sql*/ `SELECT ${columns} FROM passes WHERE ${where}`).all(...values);
  return rows.map((row) => PassRow.parse(row));
}

/** The unfinished pass of a dataset and mode, if there is one. */
export function findUnfinishedPass(db: Database, dataset: MirroredDataset, mode: PassMode): Pass | undefined {
  const rest = /*sql*/ `dataset = ? AND mode = ? AND verdict IS NULL ORDER BY id DESC LIMIT 1`;
  return selectPasses(db, rest, dataset, mode)[0];
}

/** The newest pass of each dataset and mode, superseded ones excepted. */
export function newestPasses(db: Database): Pass[] {
  const newest = /*sql*/ `SELECT max(id) FROM passes WHERE reason IS NOT 'superseded' GROUP BY dataset, mode`;
  return selectPasses(db, /*sql*/ `id IN (${newest}) ORDER BY dataset, mode`);
}

/** The newest full pass of a dataset that has a verdict, superseded ones excepted. */
export function lastJudgedPass(db: Database, dataset: MirroredDataset): Pass | undefined {
  const rest = /*sql*/ `dataset = ? AND mode = 'full' AND ${endedPasses} ORDER BY id DESC LIMIT 1`;
  return selectPasses(db, rest, dataset)[0];
}

/** SQL: which passes have ended, superseded ones excepted. */
export const endedPasses = /*sql*/ `verdict IS NOT NULL AND reason IS NOT 'superseded'`;

/** The pass with the greatest id that has ended, superseded ones excepted; undefined where there is none. */
export function newestEndedPass(db: Database): { id: number; finished_at: string } | undefined {
  const sql = /*sql*/ `SELECT id, finished_at FROM passes WHERE ${endedPasses} ORDER BY id DESC LIMIT 1`;
  return db.prepare<[], { id: number; finished_at: string }>(sql).get();
}

/** Prepares the statement that saves a pass with each page: its evidence, counts and cursor. */
export function prepareSavePass(
  db: Database,
  passId: number,
): (evidence: PassEvidence, counts: PageCounts, cursor: string | null) => void {
  const save = db.prepare(/*sql*/ `UPDATE passes SET ${assignmentsOf(noEvidence)}, cursor = @cursor,
        rows_received = rows_received + @received, rows_added = rows_added + @added,
        rows_changed = rows_changed + @changed, rows_quarantined = rows_quarantined + @quarantined,
        rows_fenced = rows_fenced + @fenced, rows_came_after = rows_came_after + @cameAfter,
        rows_trimmed = rows_trimmed + @trimmed
      WHERE id = @passId AND verdict IS NULL`);
  return (evidence, counts, cursor) => {
    const { changes } = save.run({ ...evidence, ...counts, isOrdered: evidence.isOrdered ? 1 : 0, cursor, passId });
    if (changes !== 1) throw new Error('the pass was ended by somebody else');
  };
}

/**
 * The pass over the persons up to which a row was first seen before now, whatever passes that are not ended add later; null where
 * none has been complete yet.
 */
export function seenPassOfNow(db: Database): number | null {
  const sql = /*sql*/ `SELECT coalesce(min(id) FILTER (WHERE verdict IS NULL) - 1, max(id)) FROM passes WHERE dataset = 'persons'
    AND EXISTS (SELECT 1 FROM passes WHERE dataset = 'persons' AND mode = 'full' AND verdict = 'complete')`;
  return db.prepare<[], number | null>(sql).pluck().get() ?? null;
}

/** Notes that the service may have shown a pass only its own default of days. */
export function markDefaultWindow(db: Database, passId: number): void {
  db.prepare(/*sql*/ `UPDATE passes SET is_default_window = 1 WHERE id = ?`).run(passId);
}

/** Notes the playlists whose entries a pass was not told. */
export function noteUntold(db: Database, passId: number, untold: readonly UntoldEntries[]): void {
  db.prepare(/*sql*/ `UPDATE passes SET untold = ? WHERE id = ?`).run(JSON.stringify(untold), passId);
}

/**
 * The playlists whose entries the mirror does not hold as the service has them: configured ones that the last judged pass was not
 * told, and others of which it knows more entries than it was told (`untoldBefore`).
 */
export function untoldPlaylists(db: Database, shortIds: readonly string[]): string[] {
  const pass = lastJudgedPass(db, 'playlists');
  const asked = pass ? PlaylistPlan.parse(JSON.parse(pass.plan)).shortIds : [];
  const untold = shortIds.filter((id) => !asked.includes(id) || pass?.untold.some(({ shortId }) => shortId === id));
  return [...untold, ...untoldBefore(pass, shortIds).map(({ shortId }) => shortId)];
}

/** What a pass knew of playlists, beside these, that had more entries than they showed when they were last asked for. */
export function untoldBefore(pass: Pass | undefined, shortIds: readonly string[]): UntoldEntries[] {
  return (pass?.untold ?? []).filter(({ shortId, reason }) => reason === 'cut' && !shortIds.includes(shortId));
}

/** Ends a pass and returns it. Without a reason, it is complete. */
export function finishPass(db: Database, passId: number, reason: IncompleteReason | null, at: string): Pass {
  const finish =
    db.prepare(/*sql*/ `UPDATE passes SET verdict = @verdict, reason = @reason, finished_at = @at, cursor = NULL
      WHERE id = @passId RETURNING ${columns}`);
  const dropUnshown = db.prepare<[string, number]>(
    /*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND last_seen_pass < ?`,
  );
  return transact(db, () => {
    const pass = PassRow.parse(
      finish.get({ verdict: reason === null ? 'complete' : 'incomplete', reason, at, passId }),
    );
    // The whole list no longer shows these quarantined rows, so they are gone from the service.
    if (pass.verdict === 'complete') dropUnshown.run(pass.dataset, passId);
    return pass;
  });
}

/** The newest complete full pass of each dataset. The mirror is known to hold all rows that it saw. */
export function lastCompletePasses(db: Database): Pass[] {
  const newest = /*sql*/ `SELECT max(id) FROM passes WHERE mode = 'full' AND verdict = 'complete' GROUP BY dataset`;
  return selectPasses(db, /*sql*/ `id IN (${newest}) ORDER BY dataset`);
}
