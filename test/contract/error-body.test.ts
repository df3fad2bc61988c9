import { expect, test } from 'vitest';
import { ErrorBody, harmlessWords, refusals } from '../../src/contract/error-body.ts';

test.for([
  [{ type: 'a', code: 'permission_denied', detail: 'no', attr: null }, 'permission_denied'],
  [{ code: 'invalid_input', attr: 'limit', detail: 'limit of Ann is wrong' }, 'invalid_input, limit'],
  [{ detail: "API key missing required scope 'person:write'" }, 'person:write'],
  [{ error: 'You (Ann) need person:read, session_recording:read.' }, 'person:read, session_recording:read'],
  [{ code: 'permission_denied', message: 'not session_recording:read' }, 'permission_denied, session_recording:read'],
  [{ code: 'Ann', attr: 'ann@x.example', detail: 'ann:write xperson:writer' }, ''],
] as const)('of %j only known words are shown', ([body, words]) => {
  expect(harmlessWords(body)).toBe(words);
});

test.for([
  undefined,
  null,
  'person:read',
  405,
  [],
  {},
  { success: false },
  { detail: ['person:read'] },
  { detail: '' },
])('%j has no words', (body) => {
  expect(harmlessWords(body)).toBe('');
});

test('every refusal told apart has its own code, and is an error status', () => {
  const all = Object.values(refusals);
  expect(new Set(all.map(({ code }) => code)).size).toBe(all.length);
  for (const { status, type, code } of all) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(ErrorBody.safeParse({ type, code, detail: '', attr: null }).success).toBe(true);
  }
});
