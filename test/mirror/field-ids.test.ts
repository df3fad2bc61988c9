import { expect, it } from 'vitest';
import { numberFields } from '../../src/mirror/field-ids.ts';
import { openTestMirror } from './open-test-mirror.ts';

const key = { name: 'person_uuid', type: 'string' };
const ids = { name: 'distinct_ids', type: 'list<string>' };
const none = (): number => 0;
const plan = { name: 'property_plan', type: 'string' };

it('numbers columns in their order, and the elements of a list too', () => {
  const { db } = openTestMirror();
  expect(numberFields(db, 'persons', [key, ids, plan], none)).toEqual([
    { ...key, id: 1 },
    { ...ids, id: 2, element_id: 3 },
    { ...plan, id: 4 },
  ]);
  expect(numberFields(db, 'recordings', [key], none)).toEqual([{ ...key, id: 1 }]);
});

it('keeps the numbers of columns that stay, in any order', () => {
  const { db } = openTestMirror();
  numberFields(db, 'persons', [key, ids], none);
  expect(numberFields(db, 'persons', [plan, ids, key], none)).toEqual([
    { ...plan, id: 4 },
    { ...ids, id: 2, element_id: 3 },
    { ...key, id: 1 },
  ]);
});

it('gives a column that was away, and one of another type, a number that none has had', () => {
  const { db } = openTestMirror();
  numberFields(db, 'persons', [key, ids, plan], none);
  numberFields(db, 'persons', [key, ids], none);
  expect(numberFields(db, 'persons', [key, ids, plan], none).at(-1)).toEqual({ ...plan, id: 5 });
  const typed = { ...plan, type: 'int64' };
  expect(numberFields(db, 'persons', [key, ids, typed], none).at(-1)).toEqual({ ...typed, id: 6 });
  expect(numberFields(db, 'persons', [key, ids, plan], none).at(-1)).toEqual({ ...plan, id: 7 });
});

it('never gives the number of a list that has left to another column', () => {
  const { db } = openTestMirror();
  numberFields(db, 'persons', [key, ids], none);
  numberFields(db, 'persons', [key], none);
  expect(numberFields(db, 'persons', [key, plan], none).at(-1)).toEqual({ ...plan, id: 4 });
});

it('gives no number that stands in a file already, also where an older copy of the mirror knows nothing of it', () => {
  const { db } = openTestMirror();
  numberFields(db, 'persons', [key, ids], none);
  expect(numberFields(db, 'persons', [key, ids, plan], () => 9).at(-1)).toEqual({ ...plan, id: 10 });
  const asked = (): number => {
    throw new Error('the files are read although no column is new');
  };
  expect(numberFields(db, 'persons', [key, ids, plan], asked)).toHaveLength(3);
});
