import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { addedColumns, column, publishedShapes, type Column } from '../../src/snapshot/columns.ts';
import { dataContract } from '../../src/snapshot/data-contract.ts';
import { numbering } from '../export/export-fixture.ts';

type Property = { name: string; classification: string; required?: boolean; primaryKeyPosition?: number };
type Contract = { schema: { name: string; properties: Property[]; quality?: unknown[] }[]; slaProperties?: unknown[] };

const contractOf = (...promoted: Column[]): Contract =>
  parse(
    dataContract(
      publishedDatasets.map((dataset) => ({
        dataset,
        columns: numbering([...publishedShapes[dataset].columns, ...addedColumns(dataset), ...promoted]),
      })),
    ),
  ) as Contract;

test('each column that tells of a person is personal: identifiers, texts of persons, users, and promoted properties', () => {
  const { schema } = contractOf(column('property_plan', 'string'));
  const personal = Object.fromEntries(
    schema.map(({ name, properties }) => [
      name,
      properties.filter(({ classification }) => classification === 'personal').map((one) => one.name),
    ]),
  );
  expect(personal).toEqual({
    persons: ['person_uuid', 'person_id', 'name', 'distinct_ids', 'properties', 'extra', 'property_plan'],
    recordings: ['id', 'distinct_id', 'viewers', 'start_url', 'person', 'person_uuid', 'extra', 'property_plan'],
    playlists: ['created_by', 'last_modified_by', 'extra', 'property_plan'],
    distinct_ids: ['distinct_id', 'person_uuid', 'property_plan'],
    playlist_recordings: ['recording_id', 'person_uuid', 'property_plan'],
    deletions: ['key', 'person_uuid', 'property_plan'],
    passes: ['property_plan'],
    fence: ['entry', 'property_plan'],
  });
});

test('the tables are those that are loaded, with their keys, and the newest passes have to be complete', () => {
  const { schema, slaProperties } = contractOf();
  expect(schema[0]?.properties.map(({ name }) => name)).not.toContain('_seq');
  const keys = schema.map(({ properties }) =>
    properties.filter(({ required }) => required).map((one) => `${one.primaryKeyPosition} ${one.name}`),
  );
  expect(keys).toEqual([
    ['1 person_uuid'],
    ['1 id'],
    ['1 short_id'],
    ['1 distinct_id'],
    ['1 recording_id', '2 short_id'],
    ['1 key', '2 dataset'],
    ['1 pass_id'],
    ['1 entry'],
  ]);
  expect(schema.flatMap(({ name, quality = [] }) => quality.map(() => name))).toEqual(['passes']);
  expect(slaProperties).toHaveLength(1);
  const alone = dataContract([{ dataset: 'persons', columns: numbering(publishedShapes.persons.columns) }]);
  expect(alone).not.toContain('slaProperties');
});
