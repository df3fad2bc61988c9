import type { Database } from 'better-sqlite3';
import type { z } from 'zod';
import { Person, Playlist, Recording } from '../contract/resources.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';
import { prepareOwnDistinctIds } from './distinct-ids.ts';
import type { PageCounts, PassDataset } from './passes.ts';
import { prepareQuarantine, type QuarantinedRow } from './quarantine.ts';
import { prepareFindRowKey, prepareMarkSeen, prepareWriteRow, rowTable, type RowTable } from './row-table.ts';

/** The mirrored resources and their keys. */
export const mirrored = {
  persons: { resource: Person, keyColumn: 'uuid', table: rowTable('persons', 'uuid', Person) },
  recordings: {
    resource: Recording,
    keyColumn: 'id',
    table: rowTable('recordings', 'id', Recording, ['person_uuid']),
  },
  playlists: {
    resource: Playlist,
    keyColumn: 'short_id',
    table: rowTable('playlists', 'short_id', Playlist),
  },
} as const satisfies Record<PassDataset, { resource: z.ZodObject; keyColumn: string; table: RowTable }>;

/** Rows as the service showed them: those that were read, and those that could not be. */
export type ShownRows = {
  rows: readonly Readonly<Record<string, ColumnValue>>[];
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
  const { table, keyColumn } = mirrored[dataset];
  const writeRow = prepareWriteRow(db, table);
  const findRowKey = prepareFindRowKey(db, table);
  const markSeen = prepareMarkSeen(db, table);
  const ownDistinctIds = dataset === 'persons' ? prepareOwnDistinctIds(db) : undefined;
  const quarantine = prepareQuarantine(db, dataset);
  const appendChange = db.prepare<[string, ColumnValue, string]>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES (?, ?, 'upsert', ?)`,
  );
  return ({ rows, quarantined, at }, passId) => {
    const outcome = {
      received: rows.length + quarantined.length,
      added: 0,
      changed: 0,
      quarantined: quarantined.length,
      unchangedRun: 0,
    };
    const present: number[] = [];
    for (const row of rows) {
      const key = row[keyColumn] ?? null;
      const { rowKey, change } = writeRow(row, passId, at);
      present.push(rowKey);
      if (change === 'none') outcome.unchangedRun += 1;
      else {
        appendChange.run(dataset, key, at);
        const robbed = ownDistinctIds?.(rowKey, distinctIdsOf(row), change === 'added', at) ?? [];
        for (const uuid of robbed) appendChange.run(dataset, uuid, at);
        outcome[change] += 1;
        outcome.unchangedRun = 0;
      }
      quarantine.release(String(key));
    }
    for (const row of quarantined) {
      quarantine.add(row, passId, at);
      // A row that cannot be read is there all the same.
      const rowKey = row.key === null ? undefined : findRowKey(row.key);
      if (rowKey !== undefined) present.push(rowKey);
    }
    return { outcome, newRows: markSeen(present, passId) };
  };
}

function distinctIdsOf(row: Readonly<Record<string, ColumnValue>>): string[] {
  const text = row['distinct_ids'];
  return typeof text === 'string' ? (JSON.parse(text) as string[]) : [];
}
