import type Database from 'better-sqlite3';
import type { Recording } from '../../contract/resources.ts';
import type { Window } from './person-filters.ts';

/**
 * Session recordings, newest start first. A recording outlives its person. It embeds the person as it was when it was
 * recorded, because the documented field is not nullable.
 */
export function recordingTable(database: Database.Database) {
  const insert = database.prepare(
    /*sql*/ `INSERT INTO recordings (id, start_us, document) VALUES (@id, @startMicros, @document)`,
  );
  const count = database.prepare<[], number>(/*sql*/ `SELECT count(*) FROM recordings`);
  const selectPage = database.prepare<Window, string>(/*sql*/ `
    WITH page AS (
      SELECT sequence, start_us FROM recordings ORDER BY start_us DESC, sequence DESC LIMIT @limit OFFSET @offset)
    SELECT document FROM page JOIN recordings USING (sequence)
    ORDER BY page.start_us DESC, page.sequence DESC`);
  const selectOne = database.prepare<[string], string>(/*sql*/ `SELECT document FROM recordings WHERE id = ?`);
  const selectLastSequence = database.prepare<[], number>(/*sql*/ `SELECT coalesce(max(sequence), 0) FROM recordings`);
  const deleteBefore = database.prepare<[number]>(/*sql*/ `DELETE FROM recordings WHERE start_us < ?`);
  const deleteOf = database.prepare<[string]>(/*sql*/ `
    DELETE FROM recordings WHERE document ->> '$.distinct_id' IN (SELECT value FROM json_each(?))`);
  const deleteOne = database.prepare<[string]>(/*sql*/ `DELETE FROM recordings WHERE id = ?`);
  const deleteOldest = database.prepare(/*sql*/ `
    DELETE FROM recordings WHERE sequence = (
      SELECT sequence FROM recordings ORDER BY start_us, sequence LIMIT 1)`);
  return {
    /** `personJson` is spliced in as it is, so that its numbers and escapes stay exact. */
    add(recording: Omit<Recording, 'person'>, startMicros: number, personJson: string): void {
      const { storage, snapshot_source, ongoing, activity_score, ...first } = recording;
      const head = JSON.stringify(first).slice(0, -1);
      const tail = JSON.stringify({ storage, snapshot_source, ongoing, activity_score }).slice(1);
      insert.run({ id: recording.id, startMicros, document: `${head},"person":${personJson},${tail}` });
    },
    /** One page, each recording as JSON text. */
    page: (window: Window): { count: number; documents: string[] } => ({
      count: count.pluck().get() ?? 0,
      documents: selectPage.pluck().all(window),
    }),
    find: (id: string): string | undefined => selectOne.pluck().get(id),
    /** Grows with each recording that is added. */
    lastSequence: (): number => selectLastSequence.pluck().get() ?? 0,
    /** Forgets the recordings that started before a time, as retention does. */
    expireBefore: (startMicros: number): void => void deleteBefore.run(startMicros),
    /** Deletes the recordings of these distinct ids (a JSON array). */
    deleteOf: (distinctIds: string): void => void deleteOf.run(distinctIds),
    /** False when there is none. */
    delete: (id: string): boolean => deleteOne.run(id).changes > 0,
    expireOldest: (): void => void deleteOldest.run(),
  };
}
