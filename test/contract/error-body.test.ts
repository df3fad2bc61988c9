import { expect, test } from 'vitest';
import { ErrorBody, refusalDetail, refusals } from '../../src/contract/error-body.ts';

test.for([
  [{ type: 'a', code: 'b', detail: 'not found', attr: null }, 'not found'],
  [{ error: 'gone' }, 'gone'],
  [{ message: 'no' }, 'no'],
  [{ detail: '', error: 'the words' }, 'the words'],
  [{ detail: 5, message: 'the words' }, 'the words'],
  [{ detail: 'x'.repeat(500) }, 'x'.repeat(300)],
  [{ detail: 'no\u001b[2Jscope\r\nhere\u009b' }, 'no [2Jscope  here '],
  [{ detail: `${'x'.repeat(299)}😀` }, `${'x'.repeat(299)}\ufffd`],
] as const)('the words of %j', ([body, words]) => {
  expect(refusalDetail(body)).toBe(words);
});

test.for([undefined, null, 'not found', 405, [], {}, { success: false }, { detail: ['a'] }, { detail: '' }])(
  '%j has no words',
  (body) => {
    expect(refusalDetail(body)).toBeUndefined();
  },
);

test('every refusal told apart has its own code, and is an error status', () => {
  const all = Object.values(refusals);
  expect(new Set(all.map(({ code }) => code)).size).toBe(all.length);
  for (const { status, type, code } of all) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(ErrorBody.safeParse({ type, code, detail: '', attr: null }).success).toBe(true);
  }
});
