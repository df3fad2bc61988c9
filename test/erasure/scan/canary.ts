import { sha256 } from '../../../src/core/digest.ts';
import { datasets, type PagedDataset } from '../../../src/contract/datasets.ts';
import type { Identity } from '../../../src/contract/identity.ts';
import { sightingOf } from '../../../src/contract/row-readers.ts';
import type { Database } from '../../../src/mirror/database.ts';
import type { OrderedSubject, ScanReport } from '../../../src/erasure/scan/scan-task.ts';

/** Somebody whose every field holds text that stands nowhere else. */
export type Person = {
  row: Record<string, string | number | null>;
  distinctIds: string[];
  recording: Record<string, string | number | null>;
};

const emoji = '🦤🐋🦜🪶🐚🦑';

/** A person by a word that names all of their values. `long`: how many characters the longest of them has. */
export function personOf(word: string, number: number, long = 40): Person {
  // As real ones, uuids have next to nothing in common; they ascend by number.
  const hex = sha256(String(number));
  const uuid = `${number.toString(16).padStart(8, '0')}-${hex.slice(8, 12)}-7${hex.slice(12, 15)}-8${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
  const email = `${word}.mail@${word}.example`;
  const properties = {
    email,
    quoted: `${word} said "never" \\ or / ever`,
    percent: `${word} 100% & more?=${word}`,
    unicode: `${word} Žluťoučký kůň ${emoji} 東京タワーの${word}`,
    long: Array.from({ length: Math.ceil(long / 20) }, (_, index) => `${word}-${index}-${word}`).join(' '),
    nested: { deep: [[`${word} nested text`]] },
    seen: '2026-11-20T10:00:00.000Z',
  };
  const distinctIds = [email, `${word}-device-${number}`];
  return {
    distinctIds,
    row: withEveryText('persons', word, {
      uuid,
      id: number,
      name: `${word} O'${word} Ünique`,
      distinct_ids: JSON.stringify(distinctIds),
      properties: JSON.stringify(properties),
      created_at: '2026-11-20T09:00:00.000Z',
      extra: JSON.stringify({ note: `${word} extra text` }),
      first_seen_pass: 1,
      changed_at: '2026-11-20T10:00:00.000Z',
    }),
    recording: withEveryText('recordings', word, {
      id: `${hex.slice(32, 40)}-1111-7222-8333-${hex.slice(40, 52)}`,
      distinct_id: email,
      person_uuid: uuid,
      start_url: `https://example.com/${word}/start?who=${encodeURIComponent(`${word} ö ${word}`)}`,
      start_time: '2026-11-20T09:00:00.000Z',
      person: JSON.stringify({ id: number, uuid, name: word, distinct_ids: email, properties }),
      first_seen_pass: 1,
      changed_at: '2026-11-20T10:00:00.000Z',
    }),
  };
}

/** Every personal text of somebody's rows. */
export function textsOf({ row, recording }: Pick<Person, 'row' | 'recording'>): string[] {
  return [...sightingOf('persons', row).values, ...sightingOf('recordings', recording).values];
}

/** A row with a text of its own in every personal field that it does not have yet. */
function withEveryText(dataset: PagedDataset, word: string, row: Person['row']): Person['row'] {
  const missing = datasets[dataset].fields.filter(({ name, role }) => role === 'personal' && !Object.hasOwn(row, name));
  const texts = missing.map(({ name, kind }) => {
    const text = `${word} ${name} of ${dataset}`;
    return [name, kind === 'text' ? text : JSON.stringify([text])];
  });
  return { ...row, ...Object.fromEntries(texts) };
}

/** What the scanner is told of somebody. */
export function subjectOf({
  row,
  recording,
  distinctIds,
}: Person): Omit<OrderedSubject, 'identities'> & { identity: Identity } {
  const identity: Identity = {
    person_uuid: [String(row['uuid'])],
    person_id: [String(row['id'])],
    distinct_id: distinctIds,
    recording_id: [String(recording['id'])],
  };
  return { request: `request of ${row['id']}`, identity, values: textsOf({ row, recording }) };
}

/** As `subjectOf`, for a process that is asked to scan. */
export function orderedSubjectOf(person: Person): OrderedSubject {
  const { identity, ...subject } = subjectOf(person);
  return { ...subject, identities: [identity] };
}

/** Writes people into the mirror as a sync would. */
export function addPeople(db: Database, people: readonly Person[]): void {
  db.transaction(() => {
    for (const { row, recording, distinctIds } of people) {
      const key = insert(db, 'persons', row);
      for (const distinctId of distinctIds)
        insert(db, 'distinct_id_owners', { person_row_key: key, distinct_id: distinctId });
      insert(db, 'recordings', recording);
      insert(db, 'changes', {
        dataset: 'persons',
        key: row['uuid'] ?? null,
        op: 'upsert',
        at: '2026-11-20T10:00:00.000Z',
      });
    }
  })();
}

/** Takes people out again, row by row, as an erasure would, with the feeds that tell of it. */
export function removePeople(db: Database, people: readonly Person[]): void {
  db.transaction(() => {
    for (const { row, recording, distinctIds } of people) {
      for (const distinctId of distinctIds)
        db.prepare('DELETE FROM distinct_id_owners WHERE distinct_id = ?').run(distinctId);
      db.prepare('DELETE FROM persons WHERE uuid = ?').run(row['uuid']);
      db.prepare('DELETE FROM recordings WHERE id = ?').run(recording['id']);
      for (const [dataset, key] of [
        ['persons', row['uuid']],
        ['recordings', recording['id']],
      ] as const)
        insert(db, 'deletions', {
          dataset,
          key: key ?? null,
          person_uuid: row['uuid'] ?? null,
          reason: 'erased',
          deleted_at: '2026-11-20T11:00:00.000Z',
        });
    }
  })();
}

/** Writes a row into any table. Returns its key. */
export function insert(
  db: Database,
  table: string,
  row: Record<string, string | number | bigint | Buffer | null>,
): number {
  const names = Object.keys(row);
  const { lastInsertRowid } = db
    .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
    .run(...Object.values(row));
  return Number(lastInsertRowid);
}

/** Where a report found somebody, each place once: `decoded mirror.db:persons.uuid`, `raw hex tmp/x`. */
export function placesOf({ subjects }: ScanReport, index = 0): string[] {
  const places = subjects[index]?.places ?? [];
  return places.map(({ how, encoding, place }) => [how, encoding, place].filter(Boolean).join(' ')).toSorted();
}
