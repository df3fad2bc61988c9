import Sqlite from 'better-sqlite3';
import { databasePath } from '../../../src/mirror/database.ts';
import { listPublishedParts } from '../../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../../snapshot/parquet-readers.ts';

/** A row that is kept anywhere, and what it shows of its person, read by none of the program's own means. */
export type KeptRow = {
  /** `mirror persons`, or a published snapshot: `persons/20261118T090000.000Z`. */
  place: string;
  /** The name of the published file. An erasure gives the same rows another one. */
  part: string | null;
  key: string;
  uuid: string | null;
  id: string | null;
  /** Those that the person is shown with. */
  distinctIds: string[];
  /** Of a recording: the distinct id that it was made under. */
  recordedUnder: string | null;
  /** As it is spelled in the row. */
  email: string | undefined;
  /** The whole row as text, without some distinct ids in the places that name persons; `isChanged`: without its time too. */
  textWithout: (gone: ReadonlySet<string>, isChanged?: boolean) => string;
};

type Fields = Record<string, unknown>;

/** Every row of persons, recordings and distinct ids in the mirror, the quarantine and all published files. */
export async function readKeptRows(dataDir: string): Promise<KeptRow[]> {
  const rows = rowsOfMirror(dataDir);
  for (const { dataset, snapshotId, name, path } of listPublishedParts(publishedFilesIn(dataDir))) {
    if (!['persons', 'recordings', 'distinct_ids'].includes(dataset)) continue;
    const place = `${dataset}/${snapshotId}`;
    for (const row of await readWithHyparquet(path)) rows.push({ ...keptRow(place, row), part: name });
  }
  return rows;
}

function rowsOfMirror(dataDir: string): KeptRow[] {
  const db = new Sqlite(databasePath(dataDir), { readonly: true });
  try {
    const all = (table: string): Fields[] => db.prepare<[], Fields>(`SELECT * FROM "${table}"`).safeIntegers().all();
    const quarantined = all('quarantine').map(({ payload, row_id: key }): KeptRow => {
      const shown = keptRow('mirror quarantine', JSON.parse(String(payload)) as Fields);
      return Object.assign(shown, { key: String(key), textWithout: () => String(payload) });
    });
    return [
      ...all('persons').map((row) => keptRow('mirror persons', row)),
      ...all('recordings').map((row) => keptRow('mirror recordings', row)),
      ...quarantined,
    ];
  } finally {
    db.close();
  }
}

function keptRow(place: string, row: Fields): KeptRow {
  const isRecording = 'person' in row;
  const person = isRecording ? fieldsOf(row['person']) : row;
  const uuid = textOf(row['person_uuid']) ?? textOf(person['uuid']);
  const id = (isRecording ? person['id'] : (row['person_id'] ?? row['id'])) as number | bigint | null | undefined;
  const isOwner = !isRecording && !('properties' in row);
  const email = fieldsOf(person['properties'])['email'];
  return {
    place,
    part: null,
    key: String(isRecording ? row['id'] : isOwner ? row['distinct_id'] : uuid),
    uuid: uuid?.toLowerCase() ?? null,
    id: id === null || id === undefined ? null : String(id),
    distinctIds: isOwner ? [String(row['distinct_id'])] : listOf(person['distinct_ids']),
    recordedUnder: isRecording ? textOf(row['distinct_id']) : null,
    email: typeof email === 'string' ? email : undefined,
    textWithout: (gone, isChanged = false) =>
      textOfRow(isChanged ? { ...row, changed_at: null } : row, isRecording, person, gone),
  };
}

function textOfRow(row: Fields, isRecording: boolean, person: Fields, gone: ReadonlySet<string>): string {
  const ids = listOf(person['distinct_ids']).filter((each) => !gone.has(each));
  const shown = isRecording ? { ...row, person: { ...person, distinct_ids: ids } } : { ...row, distinct_ids: ids };
  return JSON.stringify(shown, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function fieldsOf(value: unknown): Fields {
  const read: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Fields) : {};
}

/** A list, its JSON text, or the only one of its items. */
function listOf(value: unknown): string[] {
  const read: unknown = typeof value === 'string' && value.startsWith('[') ? JSON.parse(value) : value;
  return [read].flat().filter((item) => typeof item === 'string');
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
