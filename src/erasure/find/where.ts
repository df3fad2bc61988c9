import { parseExactJson, readJson } from '../../core/exact-json.ts';
import { datasets, type PagedDataset } from '../../contract/datasets.ts';
import { identifiersIn, nobody, type Identity, type Sighting } from '../../contract/identity.ts';
import type { Columns } from '../../contract/tolerant-reader.ts';
import { listRequests, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { fencedBy } from '../../mirror/fence.ts';
import { readRows } from '../../mirror/read-rows.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { findMemberships } from '../../mirror/sightings.ts';
import { placeOf } from '../../snapshot/published-files.ts';
import { locateIdentity } from '../../snapshot/subject-rows.ts';
import { boxDetailsOf, givenKey, type GivenIdentifier } from '../request/box.ts';
import { scopeSubjects, type ScopeContext } from './scope.ts';

/** A place that holds a person, and how many of its rows do. `rowsInAll`: all rows of a file; null for a table. */
type Place = { place: string; rows: number; rowsInAll: number | null };

/** Where a person is. No personal data. */
export type Whereabouts = {
  places: Place[];
  requests: Pick<ErasureRequest, 'id' | 'state' | 'receivedAt'>[];
  /** The newest request that has fenced an identifier of the person; null where none has. */
  erasedBy: string | null;
  /** Some identifier is also a living person's, or names several persons. */
  isShared: boolean;
  /** The living persons, by uuid, that the identifiers name. */
  personsNamed: string[];
  /** The living persons, by uuid, that have or had an identifier of the person. */
  sharedWith: string[];
  searched: { files: number; rows: number; bytes: number };
};

/** All that is held about a person, for the person: rows as they stand, in which texts of JSON are JSON. Personal data. */
export type SubjectAccess = {
  persons: Record<string, unknown>[];
  recordings: Record<string, unknown>[];
  quarantine: { dataset: string; payload: string }[];
  playlists: { shortId: string; recordingId: string }[];
  files: { file: string; rows: { key: string; texts: string[] }[] }[];
};

/** Finds every place that holds the person that the identifiers name. Changes nothing. */
export async function whereIs(
  context: ScopeContext,
  given: readonly GivenIdentifier[],
): Promise<{ whereabouts: Whereabouts; access: SubjectAccess }> {
  const { db, published, signal } = context;
  const { scopes } = await scopeSubjects(context, [{ id: 'named', given, identity: nobody, shown: null }]);
  const { identity = nobody, isShared = false, personsNamed = [], sharedWith = [] } = scopes.get('named') ?? {};
  const namesSeveral = personsNamed.length > 1;
  const { searched, parts } = await locateIdentity(published, identity, { signal });
  const isOwn = ownRowOf(identity);
  const located = parts
    .map((part) => Object.assign(part, { found: part.found.filter(isOwn) }))
    .filter(({ found }) => found.length > 0);
  const access: SubjectAccess = {
    persons: readRows(db, 'persons', identity.person_uuid).map((row) => withJson('persons', row)),
    recordings: readRows(db, 'recordings', identity.recording_id).map((row) => withJson('recordings', row)),
    quarantine: findQuarantined(db, identity).map(({ dataset, values: [payload = ''] }) => ({ dataset, payload })),
    playlists: findMemberships(db, identity.recording_id),
    files: located.map((part) => ({
      file: placeOf(part),
      rows: part.found.map((row) => ({
        key: row.recording_id ?? row.person_uuid ?? '',
        texts: [...row.distinct_ids, ...row.values],
      })),
    })),
  };
  const { persons, recordings, quarantine, playlists: playlist_recordings } = access;
  const tables = Object.entries({ persons, recordings, quarantine, playlist_recordings }).map(
    ([table, { length: rows }]) => ({ place: `mirror.db ${table}`, rows, rowsInAll: null }),
  );
  const files = located.map((part) => ({ place: placeOf(part), rows: part.found.length, rowsInAll: part.rows }));
  const fencing = new Set(fencedBy(db, [...identifiersIn(identity)]));
  const requests = listRequests(db, 'all');
  const asked = new Set(given.map(givenKey));
  const namesThem = (id: string): boolean =>
    (boxDetailsOf(context, id)?.given ?? []).some((one) => asked.has(givenKey(one)));
  return {
    access,
    whereabouts: {
      places: [...tables, ...files].filter(({ rows }) => rows > 0),
      requests: requests
        .filter(({ id }) => fencing.has(id) || namesThem(id))
        .map(({ id, state, receivedAt }) => ({ id, state, receivedAt })),
      erasedBy: requests.findLast(({ id }) => fencing.has(id))?.id ?? null,
      isShared: isShared || namesSeveral,
      personsNamed: namesSeveral ? personsNamed : [],
      sharedWith,
      searched,
    },
  };
}

/**
 * Tells of a published row that an identity leads to whether it is the person's. A distinct id that was another person's before, or is
 * now, leads to rows of that person too.
 */
function ownRowOf(identity: Identity): (row: Sighting) => boolean {
  const [uuids, recordings] = [new Set(identity.person_uuid), new Set(identity.recording_id)];
  return ({ recording_id: recording, person_uuid: uuid }) =>
    (uuid !== null && uuids.has(uuid)) || (recording === null ? uuid === null : recordings.has(recording));
}

/** A row in which every column that holds JSON is that JSON. Numbers keep all their digits. */
function withJson(dataset: PagedDataset, row: Columns): Record<string, unknown> {
  const kinds = new Map(datasets[dataset].fields.map(({ name, kind }) => [name, kind]));
  const valueOf = (name: string, value: Columns[string]): unknown =>
    typeof value === 'string' && ['json', 'text_list'].includes(kinds.get(name) ?? '')
      ? (readJson(value, parseExactJson) ?? value)
      : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueOf(name, value ?? null)]));
}
