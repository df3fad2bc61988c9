import type Database from 'better-sqlite3';
import { rowsOf, type Haunted } from './live-persons.ts';
import type { Window } from './person-filters.ts';

type List = 'persons' | 'recordings';

/**
 * Positions of a list that hold no row. A live service loses rows between two of its stores and still counts them:
 * some pages have fewer rows, and some have none.
 */
export function ghostTable(database: Database.Database) {
  const insert = database.prepare<[List, number, string]>(
    /*sql*/ `INSERT INTO ghosts (list, at_us, key) VALUES (?, ?, ?)`,
  );
  const selectRecordings = database.prepare<Window & { sinceMicros: number }, number | null>(/*sql*/ `
    SELECT sequence, start_us AS at_us, id AS key FROM recordings WHERE start_us >= @sinceMicros
    UNION ALL SELECT NULL, at_us, key FROM ghosts WHERE list = 'recordings' AND at_us >= @sinceMicros
    ORDER BY at_us DESC, key DESC LIMIT @limit OFFSET @offset`);
  const selectRecording = database.prepare<[number], string>(
    /*sql*/ `SELECT document FROM recordings WHERE sequence = ?`,
  );
  return {
    /** `key` is a uuid: where the ghost stands among rows of its moment. */
    add: (list: List, atMicros: number, key: string): void => void insert.run(list, atMicros, key),

    /** Recordings that started at or after a time, newest first, equal times by id, highest first, as JSON text. */
    recordings(window: Window, sinceMicros: number): Haunted<string> {
      const sequences = selectRecordings.pluck().all({ ...window, sinceMicros });
      const rows = rowsOf(sequences, (sequence) => selectRecording.pluck().get(sequence));
      return { rows, positions: sequences.length };
    },
  };
}
