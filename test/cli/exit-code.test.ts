import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-code.ts';
import { AppError, type ErrorCode } from '../../src/core/errors.ts';

const documented: Record<ErrorCode, number> = {
  usage: 2,
  refused: 3,
  service: 1,
  oversize: 1,
  unreachable: 1,
  rejected: 1,
  storage: 1,
  busy: 5,
  interrupted: 130,
};

test.for(Object.entries(documented))('%s ends with %d', ([code, exitCode]) => {
  expect(exitCodeOf(new AppError('', { code: code as ErrorCode }))).toBe(exitCode);
});

test.for([new Error('bug'), 'text', undefined])('what is not ours ends with 1', (thrown) => {
  expect(exitCodeOf(thrown)).toBe(1);
});
