import { describe, expect, it, test } from 'vitest';
import {
  dataset,
  datasets,
  keyKind,
  laneOf,
  mirroredDatasets,
  pagedDatasets,
  publishedDatasets,
} from '../../src/contract/datasets.ts';
import { endpointNames } from '../../src/contract/endpoints.ts';
import { User } from '../../src/contract/resources.ts';
import { sightingOf } from '../../src/contract/row-readers.ts';

test('a text of a dataset that is no identifier, not personal, and not declared not to be, is refused', () => {
  const resource = datasets.persons.resource.extend({ nickname: User.shape.first_name });
  expect(() => dataset({ ...datasets.persons, resource })).toThrow(
    'the field nickname is neither personal nor declared not to be',
  );
});

test('the datasets are mirrored, paged and published in this order', () => {
  expect(mirroredDatasets).toEqual(['persons', 'recordings', 'playlists']);
  expect(pagedDatasets).toEqual(['persons', 'recordings']);
  expect(publishedDatasets).toEqual([
    'persons',
    'recordings',
    'playlists',
    'distinct_ids',
    'playlist_recordings',
    'deletions',
    'passes',
    'fence',
  ]);
});

test('the key of a row identifies it, but in playlists and in the feed of deletions', () => {
  expect(Object.keys(datasets).map((name) => [name, keyKind(name)])).toEqual([
    ['persons', 'person_uuid'],
    ['recordings', 'recording_id'],
    ['playlists', undefined],
    ['distinct_ids', 'distinct_id'],
    ['playlist_recordings', 'recording_id'],
    ['deletions', undefined],
    ['passes', undefined],
    ['fence', undefined],
  ]);
  expect(keyKind('constructor')).toBeUndefined();
});

test('identifiers are in this order, the key first: the first one that is fenced is counted', () => {
  const namesOf = (name: keyof typeof datasets): string[] => datasets[name].identifiers.map((one) => one.name);
  expect(namesOf('persons')).toEqual(['uuid', 'id']);
  expect(namesOf('recordings')).toEqual(['id', 'person_uuid', 'distinct_id']);
  expect(namesOf('distinct_ids')).toEqual(['distinct_id', 'person_uuid']);
  expect(datasets.persons.heldIds?.name).toBe('distinct_ids');
});

test('the list of recordings alone has limits of its own', () => {
  expect(endpointNames.filter((name) => laneOf(name) !== 'general')).toEqual(['recordings.list']);
});

describe('the sighting that a row is', () => {
  it.each(pagedDatasets)('holds every personal text of %s, and no other text', (name) => {
    const { fields } = datasets[name];
    const isText = ({ kind }: (typeof fields)[number]): boolean => ['text', 'text_list', 'json'].includes(kind);
    const row = Object.fromEntries(
      fields.filter(isText).map((field) => [field.name, JSON.stringify([`${field.name} text`])]),
    );
    const personal = fields.filter(({ role }) => role === 'personal').map((field) => row[field.name]);
    expect(sightingOf(name, row).values).toEqual(personal);
  });

  it('is the same for a row of the mirror and for one of a published file', () => {
    const mirrored = { uuid: 'p1', id: '7', name: 'Ann', distinct_ids: '["a","b"]', properties: '{}' };
    const published = { ...mirrored, id: 7n, distinct_ids: ['a', 'b'], created_at: new Date(0) };
    expect(sightingOf('persons', published)).toEqual(sightingOf('persons', mirrored));
    expect(sightingOf('persons', mirrored)).toEqual({
      person_uuid: 'p1',
      person_id: '7',
      distinct_ids: ['a', 'b'],
      recording_id: null,
      values: ['Ann', '{}'],
    });
  });

  it('holds the texts of a field that the contract does not know', () => {
    expect(sightingOf('persons', { uuid: 'p1', property_plan: 'gold' }).values).toEqual(['gold']);
  });

  it('begins with the distinct id that a recording was made under', () => {
    const person = '{"id":9,"uuid":"p9","distinct_ids":["d9","d3"]}';
    const row = { id: 'r1', distinct_id: 'd3', person_uuid: 'p3', person };
    expect(sightingOf('recordings', row)).toEqual({
      person_uuid: 'p3',
      person_id: '9',
      distinct_ids: ['d3', 'd9'],
      recording_id: 'r1',
      values: [person],
    });
  });
});
