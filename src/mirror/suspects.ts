import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { datasets, pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import { textListOf } from '../contract/tolerant-reader.ts';
import { knownAs, type KnownAs } from './read-rows.ts';
import { expiry } from './remove-rows.ts';
import { seenPass, seenRows } from './seen.ts';
import { columnsAs } from './tables.ts';
import { transact } from './transact.ts';

const Suspect = z.object({
  rowKey: z.int(),
  nominatedPass: z.int(),
  confirmations: z.int(),
  confirmedAt: z.string().nullable(),
  isApproved: z.int().transform((value) => value === 1),
  key: z.string(),
  id: z.string().nullable(),
  distinctIds: z
    .string()
    .nullable()
    .transform((text) => textListOf(text) ?? []),
  createdAt: z.string().nullable(),
});

/** A row that a complete pass did not see. `id`: digits, where the service showed one. `distinctIds`: lost ones too. */
export type Suspect = z.infer<typeof Suspect>;

/** SQL: every distinct id that a person holds or has lost, as a JSON list. */
const heldOrLost = /*sql*/ `(SELECT json_group_array(distinct_id) FROM (
  SELECT value AS distinct_id FROM json_each(persons.distinct_ids) UNION
  SELECT distinct_id FROM distinct_ids_lost WHERE person_row_key = persons.row_key))`;

/**
 * Nominates rows unseen since a complete pass, in the span that the list shows. Returns how many. A suspect that was seen since
 * it was nominated is a new one. A list that shows a part is trusted down to the oldest time that it showed (`shownSince`; the mirror can
 * know an earlier one of the same row): older ones may have expired. Those of which the service has told that they do not yet, it is to
 * show since its first day (`listedSince`).
 */
export function nominateSuspects(
  db: Database,
  dataset: PagedDataset,
  passId: number,
  { at, shownSince, listedSince }: Record<'at', string> & Record<'shownSince' | 'listedSince', string | null>,
): number {
  const { sortTime, showsAll } = datasets[dataset];
  releaseSeenSuspects(db, dataset);
  const inList = showsAll
    ? /*sql*/ `1`
    : /*sql*/ `(${sortTime} >= @shownSince OR (${sortTime} >= @listedSince AND ${expiry} >= julianday(@at)))`;
  const sql = /*sql*/ `INSERT OR IGNORE INTO suspects (dataset, row_key, nominated_pass, nominated_at)
        SELECT @dataset, row_key, @passId, @at FROM ${seenRows(dataset)}
        WHERE pass_id < @passId AND ${inList}`;
  return db.prepare(sql).run({ dataset, passId, at, shownSince, listedSince }).changes;
}

/** Whether a pass has seen a suspect since it was nominated. */
function isSeenAgain(dataset: PagedDataset): string {
  return /*sql*/ `coalesce(${seenPass(dataset, 'suspects.row_key')} >= nominated_pass, 0)`;
}

/** Lets go of suspects that a pass has seen since they were nominated. Returns how many. */
export function releaseSeenSuspects(db: Database, dataset: PagedDataset): number {
  return db.prepare(/*sql*/ `DELETE FROM suspects WHERE dataset = ? AND ${isSeenAgain(dataset)}`).run(dataset).changes;
}

/** Every suspect of a dataset that no pass has seen since, in the order of their keys. */
export function listSuspects(db: Database, dataset: PagedDataset): Suspect[] {
  const { key, sortTime, heldIds } = datasets[dataset];
  const sql = /*sql*/ `SELECT row_key AS rowKey, nominated_pass AS nominatedPass, confirmations,
          confirmed_at AS confirmedAt, approved_at IS NOT NULL AS isApproved, ${key} AS key, CAST(id AS TEXT) AS id,
          ${heldIds ? heldOrLost : 'NULL'} AS distinctIds, ${sortTime} AS createdAt
        FROM suspects JOIN ${dataset} USING (row_key) LEFT JOIN deletion_plans USING (plan)
        WHERE suspects.dataset = ? AND NOT ${isSeenAgain(dataset)} ORDER BY ${key}`;
  return db
    .prepare(sql)
    .all(dataset)
    .map((row) => Suspect.parse(row));
}

/** Notes that the service once more said that it has no such row. `at`: the latest that the present can be. */
export function confirmSuspect(db: Database, dataset: PagedDataset, rowKey: number, at: string): void {
  const sql = /*sql*/ `UPDATE suspects SET confirmations = confirmations + 1, confirmed_at = ?
    WHERE dataset = ? AND row_key = ?`;
  db.prepare(sql).run(at, dataset, rowKey);
}

/** A batch that waits for a person. */
export type HeldPlan = { plan: string; dataset: PagedDataset; rows: number; rowsTotal: number; heldAt: string };

/**
 * Holds suspects in a plan, which replaces the ones that they were held in before. The new plan is held since the time at
 * which the first of those was. A plan that holds no row, approved or not, begins again: an approval is for once.
 */
export function holdSuspects(db: Database, held: HeldPlan, rowKeys: readonly number[]): void {
  const since = /*sql*/ `(SELECT min(held_at) FROM deletion_plans JOIN suspects USING (plan)
    WHERE approved_at IS NULL AND suspects.dataset = @dataset)`;
  transact(db, () => {
    db.prepare(/*sql*/ `INSERT INTO deletion_plans (plan, dataset, rows, rows_total, held_at)
        VALUES (@plan, @dataset, @rows, @rowsTotal, min(@heldAt, ifnull(${since}, @heldAt)))
        ON CONFLICT (plan) DO UPDATE SET rows_total = excluded.rows_total, held_at = excluded.held_at,
          approved_at = NULL`).run(held);
    db.prepare(
      /*sql*/ `UPDATE suspects SET plan = ? WHERE dataset = ? AND row_key IN (SELECT value FROM json_each(?))`,
    ).run(held.plan, held.dataset, JSON.stringify(rowKeys));
  });
}

/** Lets go of the plans of a dataset that nobody has approved: its absent rows are few enough to go on without approval. */
export function releasePlans(db: Database, dataset: PagedDataset): void {
  db.prepare(/*sql*/ `UPDATE suspects SET plan = NULL
      WHERE dataset = ? AND plan IN (SELECT plan FROM deletion_plans WHERE approved_at IS NULL)`).run(dataset);
}

/** The plans that wait for a person and still hold a row. */
export function listHeldPlans(db: Database): HeldPlan[] {
  const sql = /*sql*/ `SELECT plan, deletion_plans.dataset, count(*) AS rows, rows_total AS rowsTotal, held_at AS heldAt
        FROM deletion_plans JOIN suspects USING (plan) WHERE approved_at IS NULL GROUP BY plan ORDER BY held_at, plan`;
  return db.prepare<[], HeldPlan>(sql).all();
}

/** How many rows of each dataset are suspects. */
export function countSuspects(db: Database): Record<PagedDataset, number> {
  const count = db.prepare<[string], number>(/*sql*/ `SELECT count(*) FROM suspects WHERE dataset = ?`).pluck();
  const counts = pagedDatasets.map((dataset) => [dataset, count.get(dataset) ?? 0]);
  return Object.fromEntries(counts) as Record<PagedDataset, number>;
}

/** The first rows of a held plan, by their keys (uuids of persons, ids of recordings). */
export function listHeldRows(
  db: Database,
  { plan, dataset }: Pick<HeldPlan, 'plan' | 'dataset'>,
  most: number,
): KnownAs[] {
  const { key } = datasets[dataset];
  const sql = /*sql*/ `SELECT ${key} AS key, ${knownAs[dataset]} AS known FROM suspects JOIN ${dataset} USING (row_key)
    WHERE dataset = ? AND plan = ? ORDER BY 1 LIMIT ?`;
  return db.prepare<[string, string, number], KnownAs>(sql).all(dataset, plan, most);
}

/** Lets the rows of a held plan go on. Returns whether there is such a plan. */
export function approvePlan(db: Database, plan: string, at: string): boolean {
  const approve = db.prepare(/*sql*/ `UPDATE deletion_plans SET approved_at = coalesce(approved_at, ?)
      WHERE plan = ? AND EXISTS (SELECT 1 FROM suspects WHERE suspects.plan = deletion_plans.plan)`);
  return approve.run(at, plan).changes === 1;
}

/** A plan by its name, whether it holds rows or not; undefined where there never was one of that name. */
export function findPlan(db: Database, plan: string): (HeldPlan & { approvedAt: string | null }) | undefined {
  const columns = columnsAs(['plan', 'dataset', 'rows', 'rowsTotal', 'heldAt', 'approvedAt']);
  const sql = /*sql*/ `SELECT ${columns} FROM deletion_plans WHERE plan = ?`;
  return db.prepare<[string], NonNullable<ReturnType<typeof findPlan>>>(sql).get(plan);
}

/** Lets go of a suspect: it has been shown again. */
export function acquitSuspect(db: Database, dataset: PagedDataset, rowKey: number): void {
  db.prepare(/*sql*/ `DELETE FROM suspects WHERE dataset = ? AND row_key = ?`).run(dataset, rowKey);
}
