import type { Database } from '../../mirror/database.ts';
import { readEveryRow } from '../../mirror/every-row.ts';
import type { Decoder, RowOrigin } from './judge-rows.ts';
import { isOwnTable, ownWords } from './own-rows.ts';
import { mirrorPlace } from './scan-task.ts';

const origins: Readonly<Record<string, RowOrigin>> = {
  persons: 'rightful',
  distinct_id_owners: 'rightful',
  distinct_ids_lost: 'rightful',
  recordings: 'rightful',
  playlists: 'rightful',
  playlist_recordings: 'rightful',
  mirrored_project: 'rightful',
  schema_migrations: 'rightful',
  sqlite_schema: 'rightful',
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
