import type { Database } from 'better-sqlite3';
import { sha256 } from '../core/digest.ts';
import type { PassDataset } from './passes.ts';

/** A row that could not be read. `payload` is its JSON text, but for what is nested too deeply, and where it is too large. */
export type QuarantinedRow = { key: string | null; reason: string; payload: string };

/** The rows of one list that could not be read. Both functions belong into the page's transaction. */
export type Quarantine = {
  add(row: QuarantinedRow, passId: number, at: string): void;
  /** Forgets rows that have now been read. Costs nothing while nothing of the list is in quarantine. */
  release(key: string): void;
};

/** Prepares the quarantine of one dataset. */
export function prepareQuarantine(db: Database, dataset: PassDataset): Quarantine {
  const held = new Set(
    db
      .prepare<[string], string>(/*sql*/ `SELECT row_id FROM quarantine WHERE dataset = ?`)
      .pluck()
      .all(dataset),
  );
  const add =
    db.prepare(/*sql*/ `INSERT INTO quarantine (dataset, row_id, reason, payload, first_seen_pass, last_seen_pass, seen_at)
      VALUES (@dataset, @rowId, @reason, @payload, @passId, @passId, @at)
      ON CONFLICT (dataset, row_id) DO UPDATE SET reason = excluded.reason, payload = excluded.payload,
        last_seen_pass = excluded.last_seen_pass, seen_at = excluded.seen_at`);
  const remove = db.prepare<[string, string]>(
    /*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND row_id = ?`,
  );
  return {
    add: ({ key, reason, payload }, passId, at) => {
      const rowId = key ?? `sha256:${sha256(payload)}`;
      add.run({ dataset, rowId, reason, payload, passId, at });
      held.add(rowId);
    },
    release: (key) => {
      if (held.delete(key)) remove.run(dataset, key);
    },
  };
}

/** How many rows of each dataset wait in quarantine. */
export function countQuarantine(db: Database): Record<string, number> {
  const rows = db
    .prepare<[], { dataset: string; rows: number }>(
      /*sql*/ `SELECT dataset, count(*) AS rows FROM quarantine GROUP BY dataset`,
    )
    .all();
  return Object.fromEntries(rows.map(({ dataset, rows: count }) => [dataset, count]));
}
