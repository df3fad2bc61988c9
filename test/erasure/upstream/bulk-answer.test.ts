import { expect, it } from 'vitest';
import { readBulkAnswer } from '../../../src/erasure/upstream/delete-persons.ts';

const a = '00000000-0000-4000-8000-00000000000a';
const b = '00000000-0000-4000-8000-00000000000b';
const errorsOf = (...uuids: string[]) => uuids.map((uuid) => ({ person_uuid: uuid, step: 'delete_postgres' }));
const queuedAll = { persons_found: 3, persons_deleted: 0, persons_queued_for_deletion: 3, deletion_errors: [] };

it.each([
  ['that queues all', queuedAll],
  ['that deletes all', { persons_found: 3, persons_deleted: 3, persons_queued_for_deletion: 0, deletion_errors: [] }],
  ['that does both', { persons_found: 3, persons_deleted: 1, persons_queued_for_deletion: 2 }],
  ['of a service that knows no queue', { persons_found: 3, persons_deleted: 3, deletion_errors: [] }],
  ['that only counts the queued', { persons_queued_for_deletion: 3 }],
  ['that only counts the found', { persons_found: 3 }],
  ['without any count', { deletion_errors: [], something: 'new' }],
  ['without a body', undefined],
  ['with nulls', { persons_found: null, persons_deleted: null, deletion_errors: null, ids_not_found: null }],
])('an answer %s takes all', (_what, body) => {
  expect(readBulkAnswer(body, 3)).toMatchObject({ failed: new Set(), notFound: new Set() });
});

it('names those that failed, each once, and those that are not there', () => {
  const body = {
    persons_found: 2,
    persons_deleted: 1,
    deletion_errors: errorsOf(a.toUpperCase(), a),
    ids_not_found: [b.toUpperCase()],
  };
  expect(readBulkAnswer(body, 3)).toMatchObject({ failed: new Set([a]), notFound: new Set([b]) });
});

it.each([
  ['found fewer', { ...queuedAll, persons_found: 2, persons_queued_for_deletion: 2 }],
  ['queued fewer than it found', { ...queuedAll, persons_queued_for_deletion: 2 }],
  ['deleted none, and queued none', { ...queuedAll, persons_queued_for_deletion: 0 }],
  ['counts more', { ...queuedAll, persons_deleted: 1 }],
  ['failed for one that it also counts', { ...queuedAll, deletion_errors: errorsOf(a) }],
  ['failed for somebody without a uuid', { ...queuedAll, deletion_errors: [{ step: 'delete_postgres' }] }],
  ['is a list', [queuedAll]],
  ['is a text', 'ok'],
  ['counts in words', { ...queuedAll, persons_found: 'three' }],
])('an answer that %s leaves it open', (_what, body) => {
  expect(readBulkAnswer(body, 3)).toBeUndefined();
});

it.each([
  [true, true],
  [3, true],
  [false, false],
  [0, false],
  [undefined, false],
  ['soon', false],
])('recordings %s are queued: %s', (said, are) => {
  expect(readBulkAnswer({ recordings_queued_for_deletion: said }, 1)?.areRecordingsQueued).toBe(are);
});
