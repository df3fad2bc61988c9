import { z } from 'zod';
import { isJsonObject, readJson } from '../core/exact-json.ts';
import { datasets, publishedDatasets, seqField, type MirroredDataset, type PublishedDataset } from './datasets.ts';
import { emailOf } from './email.ts';
import { embeddedPerson } from './embedded-person.ts';
import type { IdentifierKind, Sighting } from './identity.ts';
import type { FieldRole } from './resources.ts';
import { textListOf, tolerantReader, type RowReader } from './tolerant-reader.ts';

const readOnlyRecording = readerOf('recordings');
const readNamedByText = readerOf('persons');

/** How the rows of each dataset are read: every column of its table that the service's row gives. */
export const rowReaders: Readonly<Record<MirroredDataset, RowReader>> = {
  persons: (row) => readNamedByText(withTextAsName(row)),
  recordings: (row) => {
    const recording = readOnlyRecording(withoutCountdown(row));
    if (recording.ok) recording.columns['person_uuid'] = personUuidOf(row);
    return recording;
  },
  playlists: readerOf('playlists'),
};

/** A live service names a person by a property, whatever that holds (a number, a list): its JSON is the name. */
function withTextAsName(row: unknown): unknown {
  if (!isJsonObject(row) || typeof (row['name'] ?? '') === 'string') return row;
  try {
    return { ...row, name: JSON.stringify(row['name']) };
  } catch {
    // It is nested too deeply to be kept.
    return row;
  }
}

/** A live service counts the days until `expiry_time`: with that count, every recording would be another row each day. */
function withoutCountdown(row: unknown): unknown {
  if (!isJsonObject(row) || !('recording_ttl' in row)) return row;
  const { recording_ttl: _daysLeft, ...kept } = row;
  return kept;
}

const { identifiers, heldIds, sortTime } = datasets.persons;
const identifying: readonly (string | undefined)[] = [...identifiers.map(({ name }) => name), heldIds?.name, sortTime];

/** Reads the identifiers of a person, and nothing else: whatever the rest of the row holds, the person can be erased. */
export const readIdentityOfPerson: RowReader = (row) =>
  rowReaders.persons(
    isJsonObject(row) ? Object.fromEntries(Object.entries(row).filter(([field]) => identifying.includes(field))) : row,
  );

function readerOf(name: MirroredDataset): RowReader {
  const { resource, key } = datasets[name];
  return tolerantReader(resource, key);
}

const RowWithPerson = z.object({ person: z.object({ uuid: z.guid() }) });

/** The uuid of the person that a recording embeds, in lower case; null where it embeds none. */
function personUuidOf(recording: unknown): string | null {
  const known = RowWithPerson.safeParse(recording);
  return known.success ? known.data.person.uuid.toLowerCase() : null;
}

/** What a row shows of its person and of itself, whether it is of the mirror or of a published file. */
export function sightingOf(dataset: PublishedDataset, row: Row): Sighting {
  return { ...shownPerson(dataset, row), ...ownOf(dataset, row) };
}

/**
 * As `sightingOf`, for many rows: what several rows say of one person is read once and in memory once, since a person can
 * have a million recordings.
 */
export function sightingsOf(dataset: PublishedDataset): (row: Row) => Sighting {
  const { identifiers, embeddedPerson: field } = datasets[dataset];
  const names = [field, ...identifiers.map(({ role, name }) => (role === 'recording_id' ? null : name))];
  const telling = names.filter((name) => name !== null);
  const known = new Map<string, { person: ShownPerson; text: unknown }>();
  return (row) => {
    // Rows of other datasets are each about another person.
    if (field === null) return sightingOf(dataset, row);
    const key = JSON.stringify(telling.map((name) => idOf(row[name])));
    // The same text: one of several rows would be in memory once for each of them.
    const { person, text } = known.get(key) ?? { person: shownPerson(dataset, row), text: row[field] };
    // Texts that are another in each row would fill it.
    if (known.size === knownMax) known.clear();
    known.set(key, { person, text });
    return { ...person, ...ownOf(dataset, { ...row, [field]: text }) };
  };
}

const knownMax = 1000;

type Row = Readonly<Record<string, unknown>>;

/** What a row shows of its person. */
type ShownPerson = Omit<Sighting, 'recording_id' | 'values'>;

function shownPerson(dataset: PublishedDataset, row: Row): ShownPerson {
  const { identifiers, heldIds: held, embeddedPerson: field } = datasets[dataset];
  const person = embeddedPerson(field === null ? null : (textsOf(row[field])[0] ?? null));
  const idsOf = (kind: IdentifierKind): string[] =>
    identifiers.flatMap(({ role, name }) => (role === kind ? idOf(row[name]) : []));
  const list = held && row[held.name];
  const heldIdsOf = typeof list === 'string' ? (textListOf(list) ?? []) : textsOf(list);
  const properties = row['properties'];
  // Without the word, which JSON spells in one way here, a text of 50 MB is not read.
  const shown = typeof properties === 'string' && properties.includes('"email"') ? readJson(properties) : undefined;
  const email = typeof properties === 'string' ? emailOf({ properties: shown }) : person.email;
  return {
    person_uuid: idsOf('person_uuid')[0] ?? null,
    person_id: idsOf('person_id')[0] ?? person.id,
    distinct_ids: [...new Set([...idsOf('distinct_id'), ...heldIdsOf, ...person.distinctIds])],
    ...(email === undefined ? {} : { email }),
  };
}

/** What a row shows beside its person: the recording that it is about, and its personal texts. */
function ownOf(dataset: PublishedDataset, row: Row): Pick<Sighting, 'recording_id' | 'values' | 'left_out'> {
  const { identifiers } = datasets[dataset];
  const roles = rolesOf[dataset];
  const texts = Object.entries(row)
    .flatMap(([name, value]) => (!roles?.has(name) || roles.get(name) === 'personal' ? textsOf(value) : []))
    .map(boundText);
  const leftOut = texts.reduce((sum, text) => sum + text.leftOut, 0);
  return {
    recording_id: identifiers.flatMap(({ role, name }) => (role === 'recording_id' ? idOf(row[name]) : []))[0] ?? null,
    values: texts.flatMap(({ text }) => text ?? []),
    ...(leftOut > 0 ? { left_out: leftOut } : {}),
  };
}

const rolesOf: Readonly<Record<string, ReadonlyMap<string, FieldRole | undefined>>> = Object.fromEntries(
  publishedDatasets.map((dataset) => [
    dataset,
    new Map([...datasets[dataset].publishedFields, seqField].map(({ name, role }) => [name, role])),
  ]),
);

function idOf(value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? [String(value)] : [];
}

/** More than are searched for of one person: neither a longer text is kept, nor more of the texts within one that is JSON. */
const charactersMax = 262_144;

/** A text that is kept in memory of a row, of which there can be many, and how many texts of it are left out. */
function boundText(text: string): { text?: string; leftOut: number } {
  if (text.length <= charactersMax) return { text, leftOut: 0 };
  if (!/^\s*[[{"]/.test(text)) return { leftOut: 1 };
  const kept = new Set<string>();
  let [room, leftOut] = [charactersMax, 0];
  // Its texts are told from the names of fields by what follows: a tree of all would take several times its memory.
  // A text that never ends is one text: each of its characters is looked at once.
  for (const [quoted, end, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*("?)(\s*:)?/g)) {
    if (colon !== undefined) continue;
    const leaf = end === '' || quoted.includes('\\') ? readJson(quoted) : quoted.slice(1, -1);
    if (typeof leaf !== 'string' || leaf.length > room) leftOut += 1;
    else if (!kept.has(leaf)) {
      room -= leaf.length;
      kept.add(leaf);
    }
  }
  return { text: JSON.stringify([...kept]), leftOut };
}

function textsOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => typeof item === 'string' && item !== '') as string[];
}
