import type { Database } from 'better-sqlite3';
import { textListOf, type Columns, type ColumnValue } from '../contract/tolerant-reader.ts';
import { prepareOwnDistinctIds } from './distinct-ids.ts';
import { prepareAdmitRow, prepareAdmitUnread } from './fence.ts';
import { refuseStaleHolder } from './lease.ts';
import type { PageCounts, PassDataset } from './passes.ts';
import { prepareQuarantine, type QuarantinedRow } from './quarantine.ts';
import { prepareFindRowKey, prepareMarkSeen, prepareWriteRow, rowTables } from './row-table.ts';
import { boundUnread } from './unread-identifiers.ts';

/** Rows as the service showed them: those that were read, and those that could not be. */
export type ShownRows = {
  rows: readonly Readonly<Columns>[];
  quarantined: readonly QuarantinedRow[];
  at: string;
};

/** What a page changed. `unchangedRun` is how many rows at its end were known and unchanged. */
export type PageOutcome = PageCounts & { unchangedRun: number };

/** Writes rows. Returns what changed, and how many of the rows the pass had not seen before. */
export type WriteRows = (shown: ShownRows, passId: number) => { outcome: PageOutcome; newRows: number };

/**
 * Prepares what writes shown rows of a dataset: the rows, who owns their distinct ids, the quarantine, the change feed,
 * and which pass has seen them. Call it inside a transaction.
 */
export function prepareWriteRows(db: Database, dataset: PassDataset): WriteRows {
  const table = rowTables[dataset];
  const writeRow = prepareWriteRow(db, table, prepareAdmitRow(db, dataset));
  const admitUnread = prepareAdmitUnread(db, dataset);
  const findRowKey = prepareFindRowKey(db, table);
  const markSeen = prepareMarkSeen(db, table);
  const ownDistinctIds = dataset === 'persons' ? prepareOwnDistinctIds(db) : undefined;
  const quarantine = prepareQuarantine(db, dataset);
  const appendChange = db.prepare<[string, ColumnValue, string]>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES (?, ?, 'upsert', ?)`,
  );
  return ({ rows, quarantined, at }, passId) => {
    refuseStaleHolder(db);
    const outcome = {
      received: rows.length + quarantined.length,
      added: 0,
      changed: 0,
      quarantined: 0,
      fenced: 0,
      unchangedRun: 0,
    };
    const present: number[] = [];
    for (const shown of rows) {
      const written = writeRow(shown, passId, at);
      if (!written) {
        outcome.fenced += 1;
        continue;
      }
      const { rowKey, change, row } = written;
      const key = row[table.keyColumn] ?? null;
      present.push(rowKey);
      if (change === 'none') outcome.unchangedRun += 1;
      else {
        appendChange.run(dataset, key, at);
        const robbed =
          ownDistinctIds?.(rowKey, textListOf(row['distinct_ids']) ?? [], change === 'added', at) ?? [];
        for (const uuid of robbed) appendChange.run(dataset, uuid, at);
        outcome[change] += 1;
        outcome.unchangedRun = 0;
      }
      quarantine.release(String(key));
    }
    for (const unread of quarantined) {
      const row = boundUnread(dataset, unread);
      if (admitUnread && !admitUnread(row, at)) {
        outcome.fenced += 1;
        continue;
      }
      outcome.quarantined += 1;
      quarantine.add(row, passId, at);
      // A row that cannot be read is there all the same.
      const rowKey = row.key === null ? undefined : findRowKey(row.key);
      if (rowKey !== undefined) present.push(rowKey);
    }
    return { outcome, newRows: markSeen(present, passId) };
  };
}
