import type { Database } from 'better-sqlite3';
import { refuseStaleHolder } from './lease.ts';

/** Replaces what is known of a playlist's recordings, fenced ones excepted, in one transaction. Returns whether anything changed. */
export function replacePlaylistRecordings(
  db: Database,
  shortId: string,
  recordingIds: readonly string[],
): boolean {
  return db
    .transaction(() => {
      refuseStaleHolder(db);
      const wanted = JSON.stringify(recordingIds);
      const removed = db
        .prepare(
          /*sql*/ `DELETE FROM playlist_recordings WHERE short_id = ? AND recording_id NOT IN (SELECT value FROM json_each(?))`,
        )
        .run(shortId, wanted).changes;
      const added = db
        .prepare(/*sql*/ `INSERT OR IGNORE INTO playlist_recordings (short_id, recording_id) SELECT ?, value FROM json_each(?)
            WHERE NOT EXISTS (SELECT 1 FROM fence WHERE kind = 'recording_id' AND mac = fence_mac('recording_id', value))`)
        .run(shortId, wanted).changes;
      return removed + added > 0;
    })
    .immediate();
}
