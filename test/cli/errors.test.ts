import { expect, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { withApp } from '../../src/cli/command.ts';
import { exitCodeOf, explainError, presentError } from '../../src/cli/errors.ts';
import { whatEnded } from '../../src/cli/program.ts';
import { AppError, type ErrorCode } from '../../src/core/errors.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

test('one of our errors is shown with its hint, or null', () => {
  expect(presentError(new AppError('sync failed', { code: 'service', hint: 'try again' }))).toEqual({
    code: 'service',
    message: 'sync failed',
    hint: 'try again',
  });
  expect(presentError(new AppError('no', { code: 'usage' })).hint).toBeNull();
});

test.for([
  [new TypeError('ada@example.com is undefined'), 'TypeError'],
  ['ada@example.com', 'an unknown error'],
  [undefined, 'an unknown error'],
] as const)('of another error only the name is shown', ([thrown, name]) => {
  const shown = presentError(thrown);
  expect(shown).toMatchObject({ code: 'unexpected', message: `this should not have happened (${name})` });
  expect(JSON.stringify(shown)).not.toContain('ada');
});

test('a full disk is explained, one of our errors and a bug are left as they are', () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  expect(explainError(full, '/data')).toMatchObject({ code: 'storage', message: 'the disk is full (ENOSPC): /data' });
  const ours = new AppError('ours', { code: 'usage', cause: full });
  expect(explainError(ours, '/data')).toBe(ours);
  const bug = new TypeError('bug');
  expect(explainError(bug, '/data')).toBe(bug);
});

const documented: Record<ErrorCode, number> = {
  usage: 2,
  refused: 3,
  service: 1,
  quota: 3,
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

test('an error of closing the program does not hide the error before it', async () => {
  const first = new AppError('the first', { code: 'busy' });
  const app = createApp({ environment: { MIRROR_DATA_DIR: freshFolder() }, isTerminal: false }, {});
  const failing = { ...app, [Symbol.asyncDispose]: () => Promise.reject(new Error('while closing')) };
  const both = await withApp(failing, () => Promise.reject(first)).catch((error: unknown) => error);
  expect(whatEnded(both, new AbortController().signal)).toBe(first);
  expect(whatEnded(first, new AbortController().signal)).toBe(first);
});
