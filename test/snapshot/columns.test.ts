import { expect, test } from 'vitest';
import { Person } from '../../src/contract/resources.ts';
import { publishedShapes } from '../../src/snapshot/columns.ts';

const described = (dataset: keyof typeof publishedShapes): string =>
  publishedShapes[dataset].columns.map(({ name, type }) => `${name} ${type}`).join(', ');

test('persons have the published columns', () => {
  const published =
    'person_uuid string, person_id int64, name string, distinct_ids list<string>, properties string, ' +
    'created_at timestamp[us, UTC], extra string, changed_at timestamp[us, UTC]';
  const added = Object.keys(Person.shape).filter((name) => !/^(uuid|id)$/.test(name) && !published.includes(name));
  const isOld = (column: string): boolean => !added.some((name) => column.startsWith(`${name} `));
  // A new field of the contract is a new column; no column that readers know changes.
  expect(
    described('persons')
      .split(/, (?=[a-z])/)
      .filter(isOld)
      .join(', '),
  ).toBe(published);
});

test('every kind of a recording field has its type', () => {
  expect(described('recordings')).toBe(
    'id string, distinct_id string, viewed boolean, viewers list<string>, recording_duration int64, ' +
      'active_seconds int64, inactive_seconds int64, start_time timestamp[us, UTC], ' +
      'end_time timestamp[us, UTC], click_count int64, keypress_count int64, mouse_activity_count int64, ' +
      'console_log_count int64, console_warn_count int64, console_error_count int64, start_url string, ' +
      'person string, storage string, snapshot_source string, ongoing boolean, activity_score double, ' +
      'person_uuid string, extra string, changed_at timestamp[us, UTC]',
  );
});

test('distinct ids lead to persons', () => {
  expect(described('distinct_ids')).toBe('distinct_id string, person_uuid string');
});

test('deletions say what left, when and why', () => {
  expect(described('deletions')).toBe(
    'key string, dataset string, person_uuid string, reason string, deleted_at timestamp[us, UTC], request_id string, _seq int64',
  );
});

test.for(Object.entries(publishedShapes))('%s: the key is its first column', ([, { key, columns }]) => {
  expect(key).toBe(columns[0]);
});
