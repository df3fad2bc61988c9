import type { Database } from 'better-sqlite3';
import { datasets, type DatasetField, type MirroredDataset } from '../contract/datasets.ts';
import { textListOf, type Columns, type ColumnValue } from '../contract/tolerant-reader.ts';
import { prepareAdmission, type Admit } from './admit-rows.ts';
import { prepareOwnDistinctIds, type DistinctIdOwners } from './distinct-ids.ts';
import { transact } from './transact.ts';
import type { FirstPass } from './first-pass.ts';
import { KnownRow, type Fingerprints, type SentBytes } from './fingerprints.ts';
import type { PageCounts } from './passes.ts';
import { boundUnread, prepareQuarantine, type QuarantinedRow } from './quarantine.ts';
import { prepareSeen } from './seen.ts';
import { prepareFindRowKey } from './tables.ts';
import { prepareWholeRecording } from './whole-recording.ts';

/** A row of a page: its columns, or a known row that was not read. */
export type ShownRow = Readonly<Columns> | KnownRow;

/** Rows as the service showed them: those that were read, and those that could not be. */
export type ShownRows = {
  rows: readonly ShownRow[];
  quarantined: readonly QuarantinedRow[];
  at: string;
  /** The bytes of the rows that were read, where the rows of the next pass are to be known by them. */
  sent?: ReadonlyMap<ShownRow, SentBytes> | undefined;
};

/**
 * What a page changed. `unchangedRun` is how many rows at its end were known and unchanged. `isQuarantineFull`: the quarantine
 * had no room for a row that could not be read.
 */
export type PageOutcome = PageCounts & { unchangedRun: number; isQuarantineFull: boolean };

/** Writes rows. Returns what changed, and how many of the rows the pass had not seen before: those stored, and those kept out. */
export type WriteRows = (
  shown: ShownRows,
  passId: number,
) => { outcome: PageOutcome; newRows: number; newKeptOut: number };

/**
 * What a pass has besides: fingerprints to know rows by, what answers for indexes that are absent, and the keys of the rows that it
 * has seen and that have no place in the mirror, so that each counts once.
 */
type WriteParts = { fingerprints?: Fingerprints | undefined; firstPass?: FirstPass; keptOut?: Set<string> };

/**
 * Prepares what writes shown rows: rows, owners, quarantine, feed, pass. Call it inside a transaction. A known row whose
 * fingerprint still stands is unchanged, as it would be if it were read.
 */
export function prepareWriteRows(db: Database, dataset: MirroredDataset, parts: WriteParts = {}): WriteRows {
  const { fingerprints, firstPass, keptOut = new Set() } = parts;
  const { key: keyColumn, heldIds } = datasets[dataset];
  const owners = heldIds ? prepareOwnDistinctIds(db, firstPass) : undefined;
  const admission = prepareAdmission(db, dataset);
  const writeRow = prepareWriteRow(db, dataset, { admit: admission.row, settle: owners?.settle, firstPass });
  const findRowKey = firstPass?.findRowKey ?? prepareFindRowKey(db, dataset);
  const { isSeen, markSeen } = prepareSeen(db, dataset);
  const quarantine = prepareQuarantine(db, dataset);
  const appendChanges = db.prepare<[string, string, string]>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) SELECT ?, value, 'upsert', ? FROM json_each(?)`,
  );
  return ({ rows, quarantined, at, sent }, passId) => {
    admission.refresh();
    const outcome = unchangedPage(rows.length + quarantined.length);
    const present: number[] = [];
    const changed: string[] = [];
    const unstored: string[] = [];
    // Rows without a key are told apart by what they are, and by how many such stand before them on the page.
    const alike = new Map<string, number>();
    const unread = [...quarantined];
    const prints = sent && fingerprints;
    prints?.begin(rows.filter((row) => row instanceof KnownRow));
    for (const row of rows) {
      if (row instanceof KnownRow && prints?.stands(row)) {
        present.push(row.rowKey);
        outcome.unchangedRun += 1;
        continue;
      }
      const read = row instanceof KnownRow ? row.read() : { columns: row };
      if ('unread' in read) {
        unread.push(read.unread);
        continue;
      }
      const shown = read.columns;
      const written = writeRow(shown, passId, at);
      if (!written) {
        outcome.fenced += 1;
        unstored.push(String(shown[keyColumn]));
        continue;
      }
      const { rowKey, change, row: stored } = written;
      const key = String(stored[keyColumn]);
      present.push(rowKey);
      if (change === 'none') outcome.unchangedRun += 1;
      else {
        changed.push(key);
        const distinctIds = heldIds && textListOf(stored[heldIds.name]);
        if (distinctIds && owners) {
          const isShown = (other: number): boolean => present.includes(other) || isSeen(other, passId);
          const isNew = change === 'added';
          for (const other of owners.own({ rowKey, distinctIds, passId }, { isNew, isShown, at })) {
            changed.push(other.uuid);
            prints?.note(other.rowKey, undefined);
          }
        }
        outcome[change] += 1;
        outcome.unchangedRun = 0;
      }
      prints?.note(rowKey, stored === shown ? (row instanceof KnownRow ? row : sent?.get(row)) : undefined);
      quarantine.release(key);
    }
    for (const each of unread) {
      const row = boundUnread(dataset, each);
      const isAdmitted = admission.unread(row, at) !== undefined;
      outcome[isAdmitted ? 'quarantined' : 'fenced'] += 1;
      if (isAdmitted && !quarantine.add(row, passId, at)) outcome.isQuarantineFull = true;
      // A row that cannot be read is there all the same.
      const rowKey = isAdmitted && row.key !== null ? findRowKey(row.key) : undefined;
      if (rowKey === undefined) {
        const nth = alike.get(row.payload) ?? 0;
        alike.set(row.payload, nth + 1);
        unstored.push(row.key ?? `${nth} ${row.payload}`);
        continue;
      }
      present.push(rowKey);
      prints?.note(rowKey, undefined);
    }
    Object.assign(outcome, admission.takeCounts());
    prints?.save();
    if (changed.length > 0) appendChanges.run(dataset, at, JSON.stringify(changed));
    owners?.noteShown(present, passId);
    const before = keptOut.size;
    for (const key of unstored) keptOut.add(key);
    return { outcome, newRows: markSeen(present, passId), newKeptOut: keptOut.size - before };
  };
}

/** What comes of a page with so many rows that changed nothing. */
export function unchangedPage(received: number): PageOutcome {
  return {
    received,
    added: 0,
    changed: 0,
    quarantined: 0,
    fenced: 0,
    cameAfter: 0,
    trimmed: 0,
    unchangedRun: 0,
    isQuarantineFull: false,
  };
}

/** What became of a row, its surrogate key, and the row as it stands now. */
type WrittenRow = { rowKey: number; change: 'added' | 'changed' | 'none'; row: Readonly<Columns> };

/** What is asked before a row is written: the fence, who holds distinct ids, and what answers for an index that is absent. */
type RowParts = {
  admit: Admit<Readonly<Columns>>;
  settle?: DistinctIdOwners['settle'] | undefined;
  firstPass?: FirstPass | undefined;
};

/** Writes one row; undefined for one that is kept out. Call it inside a transaction. */
type WriteRow = (row: Readonly<Columns>, passId: number, at: string) => WrittenRow | undefined;

/**
 * Prepares what writes a row: a new row is added, a changed row replaced, and one equal in every column left untouched.
 * Most rows of most passes are equal, so those cost one look-up that compares in SQLite, and nothing else: what is in the
 * mirror has been held against the fence. `admit` is asked for every other row, and tells what may be written of it; `settle`
 * then tells which distinct ids a known person may hold.
 */
export function prepareWriteRow(
  db: Database,
  dataset: MirroredDataset,
  { admit, settle, firstPass }: RowParts,
): WriteRow {
  const { key: keyColumn, fields, heldIds } = datasets[dataset];
  const written = fields.filter(({ name }) => name !== keyColumn);
  const names = written.map(({ name }) => name);
  // A list may leave the integer id out that another answer has shown; and a row without the field of distinct ids takes none away.
  const newValue = ({ name, kind }: DatasetField): string =>
    kind === 'integer_id' || name === heldIds?.name ? `coalesce(?, ${name})` : '?';
  const findRowKey = firstPass?.findRowKey ?? prepareFindRowKey(db, dataset);
  const hold = db
    .prepare<
      ColumnValue[],
      0 | 1
    >(/*sql*/ `SELECT ${written.map((column) => `${column.name} IS ${newValue(column)}`).join(' AND ')}
        FROM ${dataset} WHERE row_key = ?`)
    .pluck();
  const add = db.prepare<
    ColumnValue[]
  >(/*sql*/ `INSERT INTO ${dataset} (${names.join(', ')}, ${keyColumn}, first_seen_pass, changed_at)
      VALUES (${names.map(() => '?').join(', ')}, ?, ?, ?)`);
  const replace = db.prepare<
    ColumnValue[]
  >(/*sql*/ `UPDATE ${dataset} SET ${written.map((column) => `${column.name} = ${newValue(column)}`).join(', ')}, changed_at = ?
      WHERE row_key = ?`);
  const compare = (row: Readonly<Columns>) => {
    const values = names.map((column) => row[column] ?? null);
    const rowKey = findRowKey(String(row[keyColumn]));
    return { values, rowKey, isEqual: rowKey !== undefined && hold.get(...values, rowKey) === 1 };
  };
  const wholeOf = prepareWholeRecording(db, dataset);
  return (shown, passId, at) => {
    let row = shown;
    let { values, rowKey, isEqual } = compare(row);
    const tryInstead = (other: Readonly<Columns>): void => {
      row = other;
      ({ values, rowKey, isEqual } = compare(row));
    };
    if (!isEqual) {
      const admitted = admit(row, at);
      if (!admitted) return undefined;
      if (admitted !== row) tryInstead(admitted);
    }
    if (!isEqual && rowKey !== undefined && heldIds && settle) {
      const distinctIds = textListOf(row[heldIds.name]) ?? [];
      const settled = settle({ rowKey, distinctIds, passId });
      if (settled !== distinctIds) tryInstead({ ...row, [heldIds.name]: JSON.stringify(settled) });
    }
    const whole = isEqual || rowKey === undefined ? undefined : wholeOf?.(rowKey, row);
    if (whole) tryInstead(whole);
    if (rowKey === undefined) {
      const added = Number(add.run(...values, row[keyColumn] ?? null, passId, at).lastInsertRowid);
      firstPass?.note(String(row[keyColumn]), added);
      return { rowKey: added, change: 'added', row };
    }
    if (isEqual) return { rowKey, change: 'none', row };
    replace.run(...values, at, rowKey);
    return { rowKey, change: 'changed', row };
  };
}

/** A recording as a playlist shows it. */
export type Member = { id: string; person_uuid: string | null; distinct_id: string | null };

/**
 * Replaces what is known of a playlist's recordings, fenced ones excepted, in one transaction, and tells the feed of changes. One that is
 * known of somebody else stays: that person was merged into the fenced one perhaps, and is erased next.
 * Where not all are shown, the others stay. Returns whether anything changed. A recording that is shown without its person has the one that the mirror knows.
 */
export function replacePlaylistRecordings(
  db: Database,
  shortId: string,
  members: readonly Member[],
  at: string,
  isWhole = true,
): boolean {
  const isFenced = (kind: string, name: keyof Member, value = `value ->> '${name}'`): string =>
    /*sql*/ `EXISTS (SELECT 1 FROM fence WHERE kind = '${kind}' AND mac = fence_mac('${kind}', ${value}))`;
  const admit = db
    .prepare<[string], string>(/*sql*/ `SELECT value FROM json_each(?) WHERE NOT (${isFenced('recording_id', 'id')}
      OR ${isFenced('person_uuid', 'person_uuid')} OR ${isFenced('distinct_id', 'distinct_id')})`)
    .pluck();
  const remove = db.prepare(/*sql*/ `DELETE FROM playlist_recordings
    WHERE short_id = ? AND recording_id NOT IN (SELECT value ->> 'id' FROM json_each(?))
      AND NOT (recording_id IN (SELECT value ->> 'id' FROM json_each(?)) AND person_uuid IS NOT NULL
        AND NOT ${isFenced('person_uuid', 'person_uuid', 'person_uuid')})`);
  const add = db.prepare(/*sql*/ `INSERT INTO playlist_recordings (short_id, recording_id, person_uuid, distinct_id)
    SELECT ?, value ->> 'id', coalesce(value ->> 'person_uuid',
      (SELECT recordings.person_uuid FROM recordings WHERE recordings.id = value ->> 'id')), value ->> 'distinct_id'
    FROM json_each(?) WHERE true
    ON CONFLICT DO UPDATE SET person_uuid = coalesce(excluded.person_uuid, person_uuid),
        distinct_id = coalesce(excluded.distinct_id, distinct_id)
      WHERE person_uuid IS NOT coalesce(excluded.person_uuid, person_uuid)
        OR distinct_id IS NOT coalesce(excluded.distinct_id, distinct_id)`);
  const touch = db.prepare(/*sql*/ `UPDATE playlists SET changed_at = ? WHERE short_id = ?`);
  const appendChange = db.prepare(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES ('playlists', ?, 'upsert', ?)`,
  );
  return transact(db, () => {
    const shown = JSON.stringify(members);
    const admitted = `[${admit.all(shown).join(',')}]`;
    const removed = isWhole ? remove.run(shortId, admitted, shown).changes : 0;
    if (removed + add.run(shortId, admitted).changes === 0) return false;
    touch.run(at, shortId);
    appendChange.run(shortId, at);
    return true;
  });
}
