import { describe, expect, it } from 'vitest';
import { identifiersInPlace, keyIdentifiers } from '../../../src/erasure/scan/identifiers-in-place.ts';

const uuid = '0190aaaa-1111-7222-8333-00000000000a';

/** What a column of a row says of whom it is about, in words. */
function inPlace(dataset: string, column: string, value: unknown, told?: string): string[] {
  return identifiersInPlace(dataset, column, value, told).map(({ kind, value }) => `${kind} ${value}`);
}

describe('a row is about', () => {
  it.each<[string, string, unknown, string[]]>([
    ['persons', 'uuid', uuid, [`person_uuid ${uuid}`]],
    ['persons', 'person_uuid', uuid.toUpperCase(), [`person_uuid ${uuid}`]],
    ['persons', 'id', 17n, ['person_id 17']],
    ['persons', 'person_id', 17, ['person_id 17']],
    ['persons', 'distinct_ids', '["ann","b"]', ['distinct_id ann', 'distinct_id b']],
    ['persons', 'distinct_ids', ['ann', 'b'], ['distinct_id ann', 'distinct_id b']],
    ['distinct_id_owners', 'distinct_id', 'ann', ['distinct_id ann']],
    ['distinct_ids_lost', 'distinct_id', 'ann', ['distinct_id ann']],
    ['distinct_ids', 'person_uuid', uuid, [`person_uuid ${uuid}`]],
    ['recordings', 'id', uuid, [`recording_id ${uuid}`]],
    ['recordings', 'distinct_id', uuid, [`distinct_id ${uuid}`]],
    [
      'recordings',
      'person',
      `{"id":9007199254740993,"uuid":"${uuid}","distinct_ids":["ann"]}`,
      [`person_uuid ${uuid}`, 'person_id 9007199254740993', 'distinct_id ann'],
    ],
    ['recordings', 'person', '{"id":"1","distinct_ids":"ann"}', ['person_id 1', 'distinct_id ann']],
    ['playlist_recordings', 'recording_id', 'list', ['recording_id list']],
  ])('whom %s.%s says', (dataset, column, value, identifiers) => {
    expect(inPlace(dataset, column, value)).toEqual(identifiers);
  });
});

describe('a row is not about', () => {
  it.each<[string, string, string, unknown]>([
    ['whom properties name', 'persons', 'properties', `{"uuid":"${uuid}","distinct_id":"ann"}`],
    ['whom unknown fields name', 'recordings', 'extra', `{"distinct_ids":["ann"]}`],
    ['whom a filter names', 'playlists', 'filters', `{"person_uuid":"${uuid}"}`],
    ['whom the properties of an embedded person name', 'recordings', 'person', '{"properties":{"id":1}}'],
    ['a person that is no object', 'recordings', 'person', `["${uuid}"]`],
    ['a person that is no JSON', 'recordings', 'person', `{"uuid":`],
    ['a playlist’s own id', 'playlists', 'id', 1n],
    ['a uuid that is none', 'persons', 'uuid', 'ann'],
    ['nobody', 'recordings', 'distinct_id', null],
  ])('%s', (_whom, dataset, column, value) => {
    expect(inPlace(dataset, column, value)).toEqual([]);
  });

  it('whom a distinct id holds as JSON', () => {
    expect(inPlace('persons', 'distinct_ids', '["[\\"ann\\"]"]')).toEqual(['distinct_id ["ann"]']);
    expect(inPlace('recordings', 'distinct_id', '["ann"]')).toEqual(['distinct_id ["ann"]']);
  });
});

it('a key is an identifier of the kind of the dataset that its row tells of', () => {
  expect(inPlace('changes', 'key', uuid, 'persons')).toEqual([`person_uuid ${uuid}`]);
  expect(inPlace('deletions', 'key', uuid, 'recordings')).toEqual([`recording_id ${uuid}`]);
  expect(inPlace('changes', 'key', uuid, 'playlists')).toEqual([]);
  expect(inPlace('changes', 'key', 'ann', 'persons')).toEqual([]);
  expect(keyIdentifiers('distinct_ids', 'ann')).toEqual([{ kind: 'distinct_id', value: 'ann' }]);
});
