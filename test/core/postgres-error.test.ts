import { expect, test } from 'vitest';
import { explainPostgres } from '../../src/core/postgres-error.ts';

test.for([
  ['55P03', 'unreachable', 'another session of the warehouse locks a table that has to change (55P03)'],
  ['57P01', 'unreachable', 'the warehouse does not answer (57P01)'],
  ['23505', 'storage', 'the warehouse refuses a statement (23505)'],
  ['28P01', 'usage', 'the warehouse refuses this user or has no such database (28P01)'],
] as const)('%s is told without the words of the driver', ([state, code, message]) => {
  const error = Object.assign(new Error('words of the driver'), { code: state });
  const told = explainPostgres(error, { is: 'the warehouse', place: 'export.load.into' });
  expect(told).toMatchObject({ code, message, retryable: code === 'unreachable' });
});
