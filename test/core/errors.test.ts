import { expect, test } from 'vitest';
import { AppError, assertNever, systemCode } from '../../src/core/errors.ts';

test('an error is not retryable unless it says so, and has no cause it was not given', () => {
  const error = new AppError('sync: failed', { code: 'service' });
  expect(error).toBeInstanceOf(Error);
  expect({ ...error, message: error.message }).toEqual({
    name: 'AppError',
    message: 'sync: failed',
    code: 'service',
    hint: undefined,
    isForeign: false,
    retryable: false,
    status: undefined,
    retryAfterMs: undefined,
  });
  expect('cause' in error).toBe(false);
});

test('an error keeps what it is given', () => {
  const cause = new Error('below');
  const detail = { code: 'unreachable', hint: 'wait', retryable: true, status: 503, retryAfterMs: 9, cause } as const;
  expect(new AppError('no', detail)).toMatchObject(detail);
});

test('the system’s code is read from errors only, and only when it is text', () => {
  expect(systemCode(Object.assign(new Error('full'), { code: 'ENOSPC' }))).toBe('ENOSPC');
  expect(systemCode(Object.assign(new Error('odd'), { code: 5 }))).toBeUndefined();
  expect(systemCode(new Error('plain'))).toBeUndefined();
  expect(systemCode({ code: 'ENOSPC' })).toBeUndefined();
  expect(systemCode(undefined)).toBeUndefined();
});

test.for([
  ['Input/output error', 'EIO'],
  ['I/O error', 'EIO'],
  ['Read-only file system', 'EROFS'],
  ['Device or resource busy', 'EBUSY'],
  ['No space left on device', 'ENOSPC'],
  ['Something else', undefined],
] as const)('where Node removes files and says %s, the code is %s', ([words, code]) => {
  const failed = new Error(`, Unknown error: ${words} '/data/I/O error '`);
  expect(systemCode(Object.assign(failed, { code: '', errno: -4094, syscall: 'rm' }))).toBe(code);
});

test('the system’s code of the first error is read where closing a file fails too', () => {
  const failing = (): void => {
    using _file = {
      [Symbol.dispose]: () => {
        throw Object.assign(new Error('closing'), { code: 'EIO' });
      },
    };
    throw Object.assign(new Error('full'), { code: 'ENOSPC' });
  };
  let thrown: unknown;
  try {
    failing();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(SuppressedError);
  expect(systemCode(thrown)).toBe('ENOSPC');
});

test('a branch that cannot be reached throws when it is', () => {
  expect(() => assertNever('new state' as never)).toThrow('unreachable: new state');
});
