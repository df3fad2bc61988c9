import type Database from 'better-sqlite3';
import type { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { parseExactJson } from '../../core/exact-json.ts';
import type { Playlist, PlaylistChange } from '../../contract/resources.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Change } from './change-log.ts';

type PlaylistRecord = Omit<Playlist, 'recordings_counts'>;
type Row = { id: number; document: string; members: number; watched: number };

/** Session recording playlists and their members. A soft-deleted playlist stays, and can be read (section 3). */
export function playlistTable(database: Database.Database, apiKeys: ApiKeys) {
  const insert = database.prepare(
    /*sql*/ `INSERT INTO playlists (id, short_id, document) VALUES (@id, @shortId, @document)`,
  );
  const update = database.prepare<[string, number]>(/*sql*/ `UPDATE playlists SET document = ? WHERE id = ?`);
  const select = database.prepare<[string], Row>(/*sql*/ `
    SELECT playlists.id, playlists.document, count(recordings.id) AS members,
      coalesce(sum(recordings.document ->> 'viewed'), 0) AS watched
    FROM playlists
    LEFT JOIN playlist_recordings ON playlist_id = playlists.id
    LEFT JOIN recordings ON recordings.id = recording_id
    WHERE short_id = ? GROUP BY playlists.id`);
  const selectShortIds = database.prepare<[], string>(/*sql*/ `SELECT short_id FROM playlists ORDER BY id`);
  const selectMembers = database.prepare<[string], string>(/*sql*/ `
    SELECT recording_id FROM playlist_recordings JOIN playlists ON playlists.id = playlist_id
    WHERE short_id = ? ORDER BY recording_id`);
  const selectMemberDocuments = database.prepare<[string], string>(/*sql*/ `
    SELECT recordings.document FROM playlist_recordings
    JOIN playlists ON playlists.id = playlist_id JOIN recordings ON recordings.id = recording_id
    WHERE short_id = ? ORDER BY recordings.start_us DESC, recordings.sequence DESC`);
  const insertMember = database.prepare(/*sql*/ `
    INSERT INTO playlist_recordings (playlist_id, recording_id)
    SELECT id, ? FROM playlists WHERE short_id = ? ON CONFLICT DO NOTHING`);
  const deleteMember = database.prepare(/*sql*/ `
    DELETE FROM playlist_recordings
    WHERE recording_id = ? AND playlist_id = (SELECT id FROM playlists WHERE short_id = ?)`);

  const find = (shortId: string): string | undefined => {
    const row = select.get(shortId);
    return row && `${row.document.slice(0, -1)},"recordings_counts":${counts(row)}}`;
  };
  return {
    add(playlist: PlaylistRecord): void {
      insert.run({ id: playlist.id, shortId: playlist.short_id, document: JSON.stringify(playlist) });
    },
    find,
    shortIds: (): string[] => selectShortIds.pluck().all(),
    /** Sets the given fields, and the user and time of the change. Returns the playlist as JSON text. */
    update(shortId: string, fields: z.infer<typeof PlaylistChange>, { userId, atMs }: Change): string | undefined {
      const row = select.get(shortId);
      if (!row) return undefined;
      const changed = {
        ...(parseExactJson(row.document) as PlaylistRecord),
        ...fields,
        last_modified_at: isoTime(atMs),
        last_modified_by: apiKeys.user(userId),
      };
      update.run(JSON.stringify(changed), row.id);
      return find(shortId);
    },
    members: (shortId: string): string[] => selectMembers.pluck().all(shortId),
    /** The member recordings as JSON text, newest first. */
    memberDocuments: (shortId: string): string[] => selectMemberDocuments.pluck().all(shortId),
    /** Putting in a member changes nothing. Both ids must exist. */
    addRecording: (shortId: string, recordingId: string): void => void insertMember.run(recordingId, shortId),
    /** False when it was no member. */
    removeRecording: (shortId: string, recordingId: string): boolean =>
      deleteMember.run(recordingId, shortId).changes > 0,
  };
}

/** Two levels of maps to integers (section 2.3). Nothing here matches recordings to filters, so those count none. */
function counts({ members, watched }: Row): string {
  return JSON.stringify({
    collection: { count: members, watched_count: watched },
    saved_filters: { count: 0, watched_count: 0 },
  });
}
