import { listValue, timestampTZValue } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { ColumnValue } from '../../src/contract/tolerant-reader.ts';
import type { ColumnType } from '../../src/snapshot/columns.ts';
import { valueWriters } from '../../src/snapshot/row-batches.ts';

const cases: [ColumnType, NonNullable<ColumnValue>, unknown][] = [
  ['string', 'text', 'text'],
  ['string', 1, undefined],
  ['int64', 12, 12n],
  ['int64', -(2n ** 63n), -(2n ** 63n)],
  ['int64', 2n ** 63n, undefined],
  ['int64', 1.5, undefined],
  ['int64', 2 ** 53, undefined],
  ['int64', '12', undefined],
  ['double', 1.5, 1.5],
  ['double', 3n, 3],
  ['double', '1.5', undefined],
  ['boolean', 1, true],
  ['boolean', 0n, false],
  ['boolean', 2, undefined],
  ['boolean', '', undefined],
  ['timestamp[us, UTC]', '1969-12-31T23:59:59.999999Z', timestampTZValue(-1n)],
  ['timestamp[us, UTC]', '1970-01-01T00:00:00.0000019Z', timestampTZValue(1n)],
  ['timestamp[us, UTC]', '+010000-01-01T00:00:00Z', undefined],
  ['timestamp[us, UTC]', 5, undefined],
  ['list<string>', '[]', listValue([])],
  ['list<string>', String.raw`["a","\ud83d\ude00"]`, listValue(['a', '😀'])],
  ['list<string>', '["a",1]', undefined],
  ['list<string>', '"a"', undefined],
  ['list<string>', '[', undefined],
];

test.for(cases)('%s from %s', ([type, value, expected]) => {
  expect(valueWriters[type].valueOf(value)).toEqual(expected);
});
