import { expect, test } from 'vitest';
import type { z } from 'zod';
import {
  Person,
  PersonChange,
  Playlist,
  PlaylistChange,
  Recording,
  TrendInsight,
  describeField,
  pageOf,
} from '../../src/contract/resources.ts';
import { person, playlist, recording } from './documented-rows.ts';

/** The fields whose content the document leaves open. */
const anything = new Set(['properties', 'filters']);

const pathsOf = (parsed: z.ZodSafeParseResult<unknown>) => parsed.error?.issues.map(({ path }) => path.join('.'));

const resources = [
  ['person', Person, person],
  ['recording', Recording, recording],
  ['playlist', Playlist, playlist],
] as const;

test.for(resources)('a documented %s is read as it is', ([, resource, row]) => {
  expect(resource.parse(row)).toEqual(row);
});

test.for(resources)('a %s without one of its fields, or with it ill-typed, is refused', ([, resource, row]) => {
  for (const name of Object.keys(row).filter((field) => !anything.has(field))) {
    const { [name]: _, ...rest } = row as Record<string, unknown>;
    expect(pathsOf(resource.safeParse(rest))).toEqual([name]);
    expect(pathsOf(resource.safeParse({ ...row, [name]: Symbol('ill-typed') }))).toEqual([name]);
  }
});

test.for(resources)('every field of a %s has a kind', ([, resource, row]) => {
  expect(Object.keys(resource.shape)).toEqual(Object.keys(row));
  for (const field of Object.values(resource.shape)) expect(describeField(field).kind).toMatch(/\w/);
});

test('a schema that is not a field has no kind', () => {
  expect(() => describeField(PersonChange)).toThrow('without a kind');
});

test('inside a recording, the distinct ids of a person are one text', () => {
  expect(Recording.safeParse({ ...recording, person }).success).toBe(false);
});

test('a page has its envelope', () => {
  const page = { count: 1, next: null, previous: null, results: [person] };
  expect(pageOf(Person).parse(page)).toEqual(page);
  expect(pageOf(Person).safeParse({ ...page, next: undefined }).success).toBe(false);
});

test('a change names any of the writable fields, and nothing else of the playlist', () => {
  expect(PlaylistChange.parse({ deleted: true })).toEqual({ deleted: true });
  expect(Object.keys(PlaylistChange.shape)).toEqual([
    'name',
    'derived_name',
    'description',
    'pinned',
    'deleted',
    'filters',
  ]);
  expect(PersonChange.parse({})).toEqual({});
});

test('a trend insight takes a query that is JSON text', () => {
  expect(TrendInsight.parse({ query: '{"kind":"TrendsQuery"}' })).toEqual({ query: '{"kind":"TrendsQuery"}' });
  expect(TrendInsight.safeParse({ query: '{kind' }).success).toBe(false);
  expect(TrendInsight.safeParse({ query: { kind: 'TrendsQuery' } }).success).toBe(false);
});
