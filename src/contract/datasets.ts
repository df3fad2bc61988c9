import type { z } from 'zod';
import type { EndpointName } from './endpoints.ts';
import { identifierKinds, type IdentifierKind } from './identity.ts';
import {
  Deletion,
  describeField,
  DistinctIdOwner,
  EndedPass,
  FencedEntry,
  Person,
  Playlist,
  PlaylistRecording,
  Recording,
  type FieldKind,
  type FieldRole,
} from './resources.ts';

/** Which rate limits a request is under: the list of recordings has limits of its own on top of the general ones. */
export type Lane = 'general' | 'recordings list';

/** A row of the table of datasets: all that the program has to know of one. */
type Definition = {
  /** Its rows as the service shows them, or as the mirror makes them. */
  resource: z.ZodObject;
  /** The field that a row is known by: never changed, and unique unless `keyRepeats`. */
  key: string;
  keyRepeats: boolean;
  /** The fields by whose values rows stand in files: numbers by size, texts in the byte order of UTF-8. Together they are unique. Default: the key. */
  sortedBy?: readonly string[];
  /** The field that the service's list is sorted by, newest first; null where there is no such list. */
  sortTime: string | null;
  /** The endpoint of its paged list; null where the service has none. */
  list: EndpointName | null;
  /** Whether the list shows every row there is: the list of recordings may show the latest only. */
  showsAll: boolean;
  /** The endpoint of one row by its key; null for what only the mirror makes. */
  retrieve: EndpointName | null;
  /** The rate limits of the list, or of the single rows where there is none. */
  lane: Lane;
  /** The scheduled job that reads the whole of it; null for what only the mirror makes. */
  fullJob: string | null;
  /** The field that embeds a person; the mirror takes `person_uuid` from it. */
  embeddedPerson: string | null;
  /** `pass`: the dataset whose pass vouches for the published rows. `names`: of renamed columns. */
  published: { pass: 'persons' | 'recordings' | 'playlists'; names: Readonly<Record<string, string>> };
};

/** A field of a row of the mirror. `column`: its name in published files. */
export type DatasetField = {
  readonly name: string;
  readonly kind: FieldKind;
  readonly role: FieldRole | undefined;
  readonly column: string;
};

/** A field that identifies a person, or a recording of one. */
type IdentifierField = DatasetField & { readonly role: IdentifierKind };

/** What follows from a definition. */
type Derived = {
  /** The fields of a row of the mirror, in the order of its columns. */
  readonly fields: readonly DatasetField[];
  /** The fields of a published row: the key first. */
  readonly publishedFields: readonly DatasetField[];
  readonly sortedBy: readonly string[];
  /** The fields that hold one identifier: the key first, if it is one, then by kind. */
  readonly identifiers: readonly IdentifierField[];
  /** The field that lists the distinct ids that a person holds; undefined in datasets of anything else. */
  readonly heldIds: IdentifierField | undefined;
};

/**
 * The column that published rows of mirrored datasets have beside their own: the number of the newest change that their
 * snapshot shows. Of two versions of a row, the one with the greater number is newer. A deletion whose number is greater
 * than that of the newest version came after it. Numbers tell the order, and no clock does.
 */
export const seqField: DatasetField = { name: '_seq', kind: 'integer', role: undefined, column: '_seq' };

/** What most datasets have in common; each row of the table says what is its own. The service knows nothing of those that say no more. */
const plain = {
  keyRepeats: false,
  sortTime: null,
  list: null,
  showsAll: false,
  retrieve: null,
  lane: 'general',
  fullJob: null,
  embeddedPerson: null,
} as const;

/** The table of datasets, the only place that says what a dataset is. Columns, readers and scans derive from it. */
export const datasets = {
  persons: dataset({
    resource: Person,
    key: 'uuid',
    ...plain,
    sortTime: 'created_at',
    list: 'persons.list',
    showsAll: true,
    retrieve: 'persons.retrieve',
    fullJob: 'full',
    published: { pass: 'persons', names: { uuid: 'person_uuid', id: 'person_id' } },
  }),
  recordings: dataset({
    resource: Recording,
    key: 'id',
    ...plain,
    sortTime: 'start_time',
    list: 'recordings.list',
    retrieve: 'recordings.retrieve',
    lane: 'recordings list',
    fullJob: 'recordings',
    embeddedPerson: 'person',
    published: { pass: 'recordings', names: {} },
  }),
  playlists: dataset({
    resource: Playlist,
    key: 'short_id',
    ...plain,
    retrieve: 'playlists.retrieve',
    fullJob: 'playlists',
    published: { pass: 'playlists', names: {} },
  }),
  distinct_ids: dataset({
    resource: DistinctIdOwner,
    key: 'distinct_id',
    ...plain,
    // An erasure writes every file that holds a row of the person again: so a person's rows stand together.
    sortedBy: ['person_uuid', 'distinct_id'],
    published: { pass: 'persons', names: {} },
  }),
  playlist_recordings: dataset({
    resource: PlaylistRecording,
    key: 'recording_id',
    ...plain,
    keyRepeats: true,
    sortedBy: ['recording_id', 'short_id'],
    published: { pass: 'playlists', names: {} },
  }),
  deletions: dataset({
    resource: Deletion,
    key: 'key',
    ...plain,
    // A recording may have the id of a person.
    keyRepeats: true,
    sortedBy: ['key', 'dataset'],
    published: { pass: 'persons', names: { seq: seqField.column } },
  }),
  passes: dataset({
    resource: EndedPass,
    key: 'id',
    ...plain,
    published: { pass: 'persons', names: { id: 'pass_id', started_at: 'as_of', rows_distinct: 'rows_seen' } },
  }),
  fence: dataset({ resource: FencedEntry, key: 'entry', ...plain, published: { pass: 'persons', names: {} } }),
};

type DatasetWith<P extends keyof Definition> = {
  [D in keyof typeof datasets]: (typeof datasets)[D][P] extends null ? never : D;
}[keyof typeof datasets];

/** A dataset that mirrors rows of the service. */
export type MirroredDataset = DatasetWith<'retrieve'>;
/** A mirrored dataset that is read by walking a paged list, so that rows can be absent from it. */
export type PagedDataset = DatasetWith<'list'>;
/** A dataset that is published as files: each is. */
export type PublishedDataset = keyof typeof datasets;

/** The mirrored datasets, in the order in which they are read. */
export const mirroredDatasets = namesOf(isMirrored);
/** The datasets whose lists are walked. */
export const pagedDatasets = namesOf((one): one is PagedDataset => datasets[one].list !== null);
/** The datasets that are published, in the order in which they are. */
export const publishedDatasets = Object.keys(datasets) as PublishedDataset[];

/** Whether a dataset mirrors rows of the service: then it can have deltas, and its published rows have `_seq`. */
export function isMirrored(dataset: PublishedDataset): dataset is MirroredDataset {
  return datasets[dataset].retrieve !== null;
}

/** The lane of an endpoint. */
export function laneOf(endpoint: string): Lane {
  return pagedDatasets.map((one) => datasets[one]).find(({ list }) => list === endpoint)?.lane ?? 'general';
}

/** The dataset that a name means; undefined where there is none of that name. */
export function findDataset(name: string): (Definition & Derived) | undefined {
  return Object.hasOwn(datasets, name) ? datasets[name as keyof typeof datasets] : undefined;
}

/** Where the rows of a dataset show the e-mail address of their person: a field that holds JSON, and the path within it. */
export function emailPlace(dataset: PagedDataset): { column: string; path: string } {
  const { embeddedPerson } = datasets[dataset];
  if (embeddedPerson === null) return { column: 'properties', path: '$.email' };
  return { column: embeddedPerson, path: '$.properties.email' };
}

/** What the key of a dataset's rows identifies; undefined where it identifies no person and no recording. */
export function keyKind(name: string): IdentifierKind | undefined {
  const found = findDataset(name);
  return found?.identifiers.find((field) => field.name === found.key)?.role;
}

/** Derives a dataset. Throws for a text that is neither an identifier, nor personal, nor declared not to be. */
export function dataset<const T extends Definition>(definition: T): T & Derived {
  const { resource, key, retrieve, embeddedPerson, published } = definition;
  const field = (name: string, schema: z.core.$ZodType): DatasetField => {
    const { kind, role } = describeField(schema);
    if (role === undefined && ['text', 'uuid', 'text_list', 'json'].includes(kind))
      throw new Error(`the field ${name} is neither personal nor declared not to be`);
    return { name, kind, role, column: published.names[name] ?? name };
  };
  const own = Object.entries(resource.shape).map(([name, schema]) => field(name, schema));
  const extra: DatasetField = { name: 'extra', kind: 'json', role: 'personal', column: 'extra' };
  const changedAt: DatasetField = { name: 'changed_at', kind: 'time', role: undefined, column: 'changed_at' };
  const fields = [
    ...own,
    ...(embeddedPerson === null ? [] : [field('person_uuid', DistinctIdOwner.shape.person_uuid)]),
    ...(retrieve === null ? [] : [extra]),
  ];
  const isKey = ({ name }: DatasetField): boolean => name === key;
  const identifying = fields.filter(isIdentifier);
  return {
    ...definition,
    sortedBy: definition.sortedBy ?? [key],
    fields,
    publishedFields: [
      ...fields.filter(isKey),
      ...fields.filter((one) => !isKey(one)),
      ...(retrieve === null ? [] : [changedAt]),
    ],
    identifiers: identifying
      .filter(({ kind }) => kind !== 'text_list')
      .toSorted(
        (a, b) =>
          Number(isKey(b)) - Number(isKey(a)) || identifierKinds.indexOf(a.role) - identifierKinds.indexOf(b.role),
      ),
    heldIds: identifying.find(({ kind }) => kind === 'text_list'),
  };
}

function isIdentifier(field: DatasetField): field is IdentifierField {
  return identifierKinds.some((kind) => kind === field.role);
}

function namesOf<D extends keyof typeof datasets>(isWanted: (name: keyof typeof datasets) => name is D): readonly D[] {
  return (Object.keys(datasets) as (keyof typeof datasets)[]).filter(isWanted);
}
