import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identifierKinds, identityOf, nobody, type Identity } from '../../../src/contract/identity.ts';
import { identifiersInPlace, indexIdentities, leavesOf } from '../../../src/erasure/scan/identity-index.ts';

const uuid = '0190aaaa-1111-7222-8333-00000000000a';
const ann: Identity = {
  person_uuid: [uuid],
  person_id: ['1'],
  distinct_id: ['ann@x', 'a.long.distinct.id', '7'],
  recording_id: ['rec-1'],
};
const { findSubjects: find } = indexIdentities([ann]);

/** As what a value is found, in a column of a dataset. */
function kindsIn(dataset: string, column: string, value: unknown): string[] {
  return [...leavesOf(column, dataset, value)].flatMap((leaf) => find(leaf).map(({ kind }) => kind));
}

describe('an identity is found', () => {
  it.each<[string, string, string, unknown, string[]]>([
    ['by uuid', 'persons', 'uuid', uuid, ['person_uuid']],
    ['by uuid in capitals', 'persons', 'uuid', uuid.toUpperCase(), ['person_uuid']],
    ['by uuid in a list in JSON', 'anything', 'anything', JSON.stringify({ a: [[uuid]] }), ['person_uuid']],
    ['by integer id', 'persons', 'id', 1n, ['person_id']],
    ['by the integer id of a published row', 'persons', 'person_id', 1n, ['person_id']],
    ['by the integer id that a recording embeds', 'recordings', 'person', '{"id":1}', ['person_id']],
    ['by an integer id that was sent as text', 'recordings', 'person', '{"id":"1"}', ['person_id']],
    ['by distinct id', 'recordings', 'distinct_id', 'ann@x', ['distinct_id']],
    ['by distinct id in a list', 'persons', 'distinct_ids', '["b","ann@x"]', ['distinct_id']],
    ['by distinct id in a list of Parquet', 'persons', 'distinct_ids', ['b', 'ann@x'], ['distinct_id']],
    ['by the distinct id that a recording embeds', 'recordings', 'person', '{"distinct_ids":"ann@x"}', ['distinct_id']],
    ['by a long distinct id anywhere', 'playlists', 'filters', '{"by":"a.long.distinct.id"}', ['distinct_id']],
    ['by recording id', 'recordings', 'id', 'rec-1', ['recording_id']],
    ['in JSON within JSON', 'a', 'b', JSON.stringify({ c: JSON.stringify([uuid]) }), ['person_uuid']],
  ])('%s', (_how, dataset, column, value, kinds) => {
    expect(kindsIn(dataset, column, value)).toEqual(kinds);
  });
});

it('a distinct id that looks like a uuid is found as it is kept, in capitals too', () => {
  const capitals = uuid.toUpperCase();
  const found = indexIdentities([{ ...nobody, distinct_id: [capitals] }]).findSubjects;
  expect(found({ name: 'name', owner: 'persons', value: capitals })).toEqual([{ subject: 0, kind: 'distinct_id' }]);
  expect(found({ name: 'name', owner: 'persons', value: uuid })).toEqual([]);
});

describe('an identity is not found', () => {
  it.each<[string, string, string, unknown]>([
    ['in a longer number', 'persons', 'id', 11n],
    ['in the integer id of something else', 'playlists', 'id', 1n],
    ['in the integer id of a user', 'playlists', 'created_by', '{"id":1}'],
    ['in the distinct id of a user', 'playlists', 'created_by', '{"distinct_id":"ann@x"}'],
    ['in a count', 'recordings', 'click_count', 1n],
    ['in a longer distinct id', 'recordings', 'distinct_id', 'joann@x'],
    ['in part of a text', 'persons', 'properties', '{"note":"a.long.distinct.id is hers"}'],
    ['in a short text that is somebody’s number', 'persons', 'properties', '{"level":"7"}'],
    ['in the name of a field', 'persons', 'properties', '{"a.long.distinct.id":true}'],
  ])('%s', (_how, dataset, column, value) => {
    expect(kindsIn(dataset, column, value)).toEqual([]);
  });
});

it('JSON of any depth is looked into', () => {
  const deep = `${'['.repeat(100_000)}"${uuid}"${']'.repeat(100_000)}`;
  expect(kindsIn('persons', 'properties', deep)).toEqual(['person_uuid']);
});

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
    ['playlist_recordings', 'distinct_id', 'ann', ['distinct_id ann']],
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
  expect(inPlace('changes', 'key', 'ann', 'distinct_ids')).toEqual(['distinct_id ann']);
});

it('identifiers are found for each subject and kind that has them, and others are not', () => {
  const few = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', '\ud800', 'ā', '1'), { maxLength: 6 });
  const anyIdentity = fc
    .record({ person_uuid: few, person_id: few, distinct_id: few, recording_id: few })
    .map((lists): Identity => identityOf((kind) => [...new Set(lists[kind])]));
  fc.assert(
    fc.property(fc.array(anyIdentity, { maxLength: 5 }), (identities) => {
      const { subjectsOf } = indexIdentities(identities);
      for (const kind of identifierKinds)
        for (const value of ['a', 'b', 'ab', 'ba', '\ud800', 'ā', '1', 'c', ''])
          expect(subjectsOf({ kind, value })).toEqual(
            identities.flatMap((identity, subject) => (identity[kind].includes(value) ? subject : [])),
          );
    }),
  );
});

it('among many identifiers, each is found once, and none that is not there', () => {
  const ids = Array.from({ length: 20_000 }, (_, n) => `0190c0de-0000-7000-8000-${String(n).padStart(12, '0')}`);
  const { subjectsOf } = indexIdentities([{ person_uuid: [], person_id: [], distinct_id: [], recording_id: ids }]);
  const found = (value: string): number[] => subjectsOf({ kind: 'recording_id', value });
  expect(ids.filter((value) => found(value).length !== 1)).toEqual([]);
  expect(ids.filter((value) => found(value.replace('c0de', 'c0df')).length !== 0)).toEqual([]);
});
