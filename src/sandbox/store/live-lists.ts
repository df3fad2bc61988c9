import type Database from 'better-sqlite3';
import type { FilterBindings, PersonFilters, PersonFilterSql, Window } from './person-filters.ts';
import type { PersonRow } from './person-row.ts';
import type { PersonWriter } from './person-writer.ts';

/** What a live service's list of persons shows. */
export type LiveView = {
  /** Persons dated after this time, in milliseconds, are hidden. */
  untilMs: number;
  /** Whether persons that came back after their deletion are hidden. */
  hidesReturned: boolean;
  /** Another number selects persons of one millisecond in another order; 0 by the uuid. */
  tieSalt: number;
};

/** The rows of a window, and how many positions of the list it took up. */
export type Haunted<Row> = { rows: Row[]; positions: number };

/**
 * The list of persons as a live service selects it: newest millisecond first, then by uuid, highest first, as a column store
 * compares uuids: by their second half. Without a filter it has ghosts too.
 */
export function livePersonList(
  database: Database.Database,
  { writer: { find }, filterSql }: { writer: PersonWriter; filterSql: PersonFilterSql },
) {
  database.function('salted_tie', { deterministic: true }, (key, salt) => saltedTie(String(key), Number(salt)));
  const statements = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (where: string, hidesReturned: boolean, isSalted: boolean) => {
    const tie = (key: string): string => (isSalted ? `salted_tie(${key}, @tieSalt)` : key);
    const shown = hidesReturned ? `AND id NOT IN (SELECT person_id FROM returned_persons)` : '';
    const ghosts = /*sql*/ `UNION ALL SELECT NULL, at_ms, ${tie('key')} FROM ghosts WHERE list = 'persons'`;
    return database
      .prepare<FilterBindings & LiveBindings, number | null>(/*sql*/ `
        SELECT id, created_at_ms AS at_ms, ${tie('uuid_key')} AS tie FROM persons
        ${where === '' ? 'WHERE' : `${where} AND`} created_at_ms <= @untilMs ${shown}
        ${where === '' ? ghosts : ''}
        ORDER BY at_ms DESC, tie DESC LIMIT @limit OFFSET @offset`)
      .pluck();
  };
  return {
    /** The persons of a window as they are selected. */
    page(filters: PersonFilters, window: Window, { untilMs, hidesReturned, tieSalt }: LiveView): Haunted<PersonRow> {
      const { where, bindings } = filterSql(filters, window);
      const name = `${where} ${hidesReturned} ${tieSalt !== 0}`;
      let statement = statements.get(name);
      if (!statement) statements.set(name, (statement = prepare(where, hidesReturned, tieSalt !== 0)));
      const ids = statement.all({ ...bindings, untilMs, tieSalt });
      return { rows: rowsOf(ids, find), positions: ids.length };
    },
  };
}

type LiveBindings = Pick<LiveView, 'untilMs' | 'tieSalt'>;

/** The rows of these keys. A key that is null, or has no row, has none. */
function rowsOf<Row>(keys: readonly (number | null)[], read: (key: number) => Row | undefined): Row[] {
  return keys.flatMap((key) => {
    const row = key === null ? undefined : read(key);
    return row === undefined ? [] : [row];
  });
}

/** A number that says nothing of its key (FNV-1a). */
function saltedTie(key: string, salt: number): number {
  let hash = 0x811c9dc5 ^ salt;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

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
