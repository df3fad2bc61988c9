import { stringify } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import { addedColumns, publishedShapes, type ColumnType } from './columns.ts';
import { newestFullPasses, staleHours } from './load-sql.ts';
import type { PublishedColumn } from './manifest.ts';

/** A dataset, and the columns with which it is published now. */
export type ContractedDataset = { dataset: PublishedDataset; columns: readonly PublishedColumn[] };

const logicalTypes: Readonly<Record<ColumnType, object>> = {
  string: { logicalType: 'string' },
  int64: { logicalType: 'integer' },
  double: { logicalType: 'number' },
  boolean: { logicalType: 'boolean' },
  'timestamp[us, UTC]': { logicalType: 'timestamp' },
  'list<string>': { logicalType: 'array', items: { logicalType: 'string' } },
};

/** What the rows of each dataset are. */
const descriptions: Readonly<Record<PublishedDataset, string>> = {
  persons: 'A row for each person.',
  recordings: 'A row for each session recording.',
  playlists: 'A row for each configured playlist.',
  distinct_ids: 'The person that a distinct id is of now.',
  playlist_recordings: 'A row for each recording in a playlist.',
  deletions: 'A row for each row that has left: copies have to delete it.',
  passes: 'A row for each walk of a list that has ended: by it, readers judge how fresh and how whole the list is.',
  fence: 'An entry for each identifier of erased people, by consumer: no row whose identifier has one may come back.',
};

/** Columns that an erasure does not search for personal texts, and that name persons all the same: those erased, and users of the service. */
const personalToo: Readonly<Partial<Record<PublishedDataset, readonly string[]>>> = {
  deletions: ['key'],
  fence: ['entry'],
  playlists: ['created_by', 'last_modified_by'],
};

/**
 * An Open Data Contract (ODCS 3.1) of the tables that `load` makes, as YAML. Each column that tells of a person is classified
 * `personal`; the others are `internal`. It has no servers: they are the reader's.
 */
export function dataContract(contracted: readonly ContractedDataset[]): string {
  const contract = {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: packageJson.name,
    name: packageJson.name,
    version: packageJson.version,
    status: 'active',
    description: {
      purpose: 'A complete copy of the persons, session recordings and playlists of an analytics project.',
      limitations:
        'Rows that have left, and people who were erased, have to leave all copies: see the table deletions.',
    },
    schema: contracted.map(schemaOf),
    ...(contracted.some(({ dataset }) => dataset === 'passes') && {
      slaProperties: [{ property: 'freshness', value: staleHours, unit: 'h', element: 'passes.as_of' }],
    }),
  };
  return stringify(contract, { lineWidth: 0, aliasDuplicateObjects: false });
}

function schemaOf({ dataset, columns }: ContractedDataset): object {
  const added = addedColumns(dataset).map(({ name }) => name);
  return {
    name: dataset,
    physicalType: 'table',
    description: descriptions[dataset],
    properties: columns.filter(({ name }) => !added.includes(name)).map((column) => describedColumn(dataset, column)),
    ...(dataset === 'passes' && { quality: [newestAreComplete] }),
  };
}

function describedColumn(dataset: PublishedDataset, { name, type }: PublishedColumn): object {
  const { key, keyRepeats, sortedBy } = publishedShapes[dataset];
  const field = datasets[dataset].publishedFields.find(({ column }) => column === name);
  const position = (keyRepeats ? sortedBy : [key.field]).indexOf(field?.name ?? '');
  // A column that the contract does not know is a promoted property of a person.
  const isPersonal =
    field === undefined ||
    (field.role ?? 'not personal') !== 'not personal' ||
    personalToo[dataset]?.includes(name) === true;
  return {
    name,
    ...logicalTypes[type],
    ...(position !== -1 && { required: true, primaryKey: true, primaryKeyPosition: position + 1 }),
    classification: isPersonal ? 'personal' : 'internal',
    ...(field?.kind === 'json' && { description: 'JSON' }),
  };
}

const newestAreComplete = {
  type: 'sql',
  name: 'The newest full pass of each list is complete.',
  query: `SELECT count(*) FROM passes WHERE verdict <> 'complete' AND ${newestFullPasses('passes')}`,
  mustBe: 0,
};
