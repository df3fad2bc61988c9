import { z } from 'zod';
import { isJsonObject, readJson } from '../core/exact-json.ts';
import { datasets, type MirroredDataset, type PublishedDataset } from './datasets.ts';
import { emailOf } from './email.ts';
import { embeddedPerson } from './embedded-person.ts';
import type { IdentifierKind, Sighting } from './identity.ts';
import { textListOf, tolerantReader, type RowReader } from './tolerant-reader.ts';

const readOnlyRecording = readerOf('recordings');

/** How the rows of each dataset are read: every column of its table that the service's row gives. */
export const rowReaders: Readonly<Record<MirroredDataset, RowReader>> = {
  persons: readerOf('persons'),
  recordings: (row) => {
    const recording = readOnlyRecording(row);
    if (recording.ok) recording.columns['person_uuid'] = personUuidOf(row);
    return recording;
  },
  playlists: readerOf('playlists'),
};

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

/**
 * The sighting that a row is: its identifiers, those of the person that it embeds, and its personal texts. Takes a row of
 * the mirror, of the service, or of a published file, by the names of its fields; a list may be its JSON text. The texts of
 * a field that the contract does not know are personal. Throws `storage` when the embedded person is not JSON.
 */
export function sightingOf(dataset: PublishedDataset, row: Readonly<Record<string, unknown>>): Sighting {
  const { identifiers: own, heldIds: held, embeddedPerson: field, publishedFields } = datasets[dataset];
  const person = embeddedPerson(field === null ? null : (textsOf(row[field])[0] ?? null));
  const idsOf = (kind: IdentifierKind): string[] =>
    own.flatMap(({ role, name }) => (role === kind ? idOf(row[name]) : []));
  const list = held && row[held.name];
  const heldIdsOf = typeof list === 'string' ? (textListOf(list) ?? []) : textsOf(list);
  const properties = row['properties'];
  const email = typeof properties === 'string' ? emailOf({ properties: readJson(properties) }) : person.email;
  const roles = new Map(publishedFields.map(({ name, role }) => [name, role]));
  return {
    person_uuid: idsOf('person_uuid')[0] ?? null,
    person_id: idsOf('person_id')[0] ?? person.id,
    distinct_ids: [...new Set([...idsOf('distinct_id'), ...heldIdsOf, ...person.distinctIds])],
    recording_id: idsOf('recording_id')[0] ?? null,
    values: Object.entries(row).flatMap(([name, value]) =>
      !roles.has(name) || roles.get(name) === 'personal' ? textsOf(value) : [],
    ),
    ...(email === undefined ? {} : { email }),
  };
}

/** As `sightingOf`, for many rows: what several of them say is in memory once, since a person can have a million rows. */
export function sightingsOf(dataset: PublishedDataset): (row: Readonly<Record<string, unknown>>) => Sighting {
  const texts = new Map<string, string>();
  const lists = new Map<string, string[]>();
  const shared = <T>(known: Map<string, T>, key: string, value: T): T => {
    const before = known.get(key);
    if (before !== undefined) return before;
    // Texts that are another in each row would fill it.
    if (known.size === sharedMax) known.clear();
    known.set(key, value);
    return value;
  };
  const text = <T extends string | null>(value: T): T => (value === null ? value : (shared(texts, value, value) as T));
  const list = (values: string[]): string[] => shared(lists, JSON.stringify(values), values);
  return (row) => {
    const sighting = sightingOf(dataset, row);
    sighting.person_uuid = text(sighting.person_uuid);
    sighting.person_id = text(sighting.person_id);
    sighting.distinct_ids = list(sighting.distinct_ids);
    sighting.values = list(sighting.values.map((value) => text(value)));
    if (sighting.email !== undefined) sighting.email = text(sighting.email);
    return sighting;
  };
}

const sharedMax = 1000;

function idOf(value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? [String(value)] : [];
}

function textsOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => typeof item === 'string' && item !== '') as string[];
}
