import type { Database } from '../../mirror/database.ts';
import { mirroredDatasets } from '../../contract/datasets.ts';
import { readEveryRow } from '../../mirror/read-rows.ts';
import { sideTables } from '../../mirror/tables.ts';
import type { Decoder, RowOrigin } from './judge-rows.ts';
import { isOwnTable, ownWords } from './own-rows.ts';
import { mirrorPlace } from './scan-task.ts';

const rightful = [
  ...mirroredDatasets,
  ...sideTables.map(({ table }) => table),
  'mirrored_project',
  'schema_migrations',
  'sqlite_schema',
];
const origins: Readonly<Record<string, RowOrigin>> = {
  ...Object.fromEntries(rightful.map((table) => [table, 'rightful'])),
  deletions: 'feed',
  changes: 'feed',
  quarantine: 'unread',
};

/** Decodes every row of the mirror. Returns how many there were. Throws SQLite's own errors. */
export function decodeMirror(db: Database, decoder: Decoder): number {
  let rows = 0;
  decoder.takeOwnWords(mirrorPlace, ownWords);
  for (const { table, columns, values } of readEveryRow(db)) {
    rows += 1;
    const origin = origins[table] ?? (isOwnTable(table) ? 'own' : 'other');
    decoder.takeRow({ file: mirrorPlace, dataset: table, origin, columns, values });
  }
  return rows;
}
