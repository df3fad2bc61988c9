import type Database from 'better-sqlite3';
import { personColumns, type PersonRow } from './person-row.ts';
import type { Window } from './persons.ts';

type List = 'persons' | 'recordings';
/** The rows of a window, and how many positions of the list it took up. */
type Haunted<Row> = { rows: Row[]; positions: number };

/**
 * Positions of a list that hold no row. A live service loses rows between two of its stores and still counts them:
 * some pages have fewer rows, and some have none.
 */
export function ghostTable(database: Database.Database) {
  const insert = database.prepare<[List, number]>(/*sql*/ `INSERT INTO ghosts (list, at_us) VALUES (?, ?)`);
  const selectPersonIds = database.prepare<Window, number | null>(/*sql*/ `
    SELECT id, created_at_us AS at_us FROM persons
    UNION ALL SELECT NULL, at_us FROM ghosts WHERE list = 'persons'
    ORDER BY at_us DESC, id DESC LIMIT @limit OFFSET @offset`);
  const selectPerson = database.prepare<[number], PersonRow>(
    /*sql*/ `SELECT ${personColumns} FROM persons WHERE id = ?`,
  );
  const selectRecordings = database.prepare<Window & { sinceMicros: number }, number | null>(/*sql*/ `
    SELECT sequence, start_us AS at_us FROM recordings WHERE start_us >= @sinceMicros
    UNION ALL SELECT NULL, at_us FROM ghosts WHERE list = 'recordings' AND at_us >= @sinceMicros
    ORDER BY at_us DESC, sequence DESC LIMIT @limit OFFSET @offset`);
  const selectRecording = database.prepare<[number], string>(
    /*sql*/ `SELECT document FROM recordings WHERE sequence = ?`,
  );
  return {
    add: (list: List, atMicros: number): void => void insert.run(list, atMicros),

    /** Persons, newest first. */
    persons(window: Window): Haunted<PersonRow> {
      const ids = selectPersonIds.pluck().all(window);
      return { rows: rowsOf(ids, (id) => selectPerson.get(id)), positions: ids.length };
    },

    /** Recordings that started at or after a time, newest first, as JSON text. */
    recordings(window: Window, sinceMicros: number): Haunted<string> {
      const sequences = selectRecordings.pluck().all({ ...window, sinceMicros });
      const rows = rowsOf(sequences, (sequence) => selectRecording.pluck().get(sequence));
      return { rows, positions: sequences.length };
    },
  };
}

function rowsOf<Row>(keys: readonly (number | null)[], read: (key: number) => Row | undefined): Row[] {
  return keys.flatMap((key) => {
    const row = key === null ? undefined : read(key);
    return row === undefined ? [] : [row];
  });
}
