import { expect, test } from 'vitest';
import { parseRetryAfterMs, refusalError } from '../../src/client/refusal.ts';
import { endpoints, type EndpointName } from '../../src/contract/endpoints.ts';

const nowMs = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;
const limits = { retryAfterMaxMs: 2 * hourMs, nowMs };

function refuse(name: EndpointName, status: number, body?: unknown, retryAfterMs?: number) {
  return refusalError(endpoints[name], { status, body, retryAfterMs, ...limits });
}

test.for([
  [301, 'service', false],
  [302, 'service', false],
  [304, 'service', false],
  [400, 'rejected', false],
  [401, 'refused', false],
  [402, 'quota', false],
  [403, 'refused', false],
  [404, 'rejected', false],
  [405, 'rejected', false],
  [409, 'rejected', false],
  [422, 'rejected', false],
  [429, 'service', true],
  [500, 'service', true],
  [502, 'service', true],
  [503, 'service', true],
  [504, 'service', true],
  [512, 'service', true],
] as const)('%d is %s, retryable: %s', ([status, code, retryable]) => {
  const error = refuse('persons.retrieve', status);
  expect(error).toMatchObject({ code, retryable, status });
  expect(error.message).toContain(`GET /persons/:id answered ${status}`);
});

test('a 404 out of a cache is none of the service', () => {
  const body = { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null };
  const asked = { status: 404, body, retryAfterMs: undefined, ...limits };
  expect(refusalError(endpoints['persons.retrieve'], asked)).toMatchObject({ isForeign: false });
  expect(refusalError(endpoints['persons.retrieve'], { ...asked, isCached: true })).toMatchObject({
    isForeign: true,
    message: expect.stringMatching(/^a 404 that is out of a cache/),
  });
});

test('an unknown list is an unknown project', () => {
  expect(refuse('persons.list', 404)).toMatchObject({ code: 'refused', hint: expect.stringContaining('projectId') });
});

test('what may be personal in the service’s words is not shown', () => {
  const detail = 'no person ada@example.com';
  for (const status of [302, 400, 401, 403, 404, 405, 409, 429, 500])
    for (const body of [detail, { detail }, { error: detail }, { code: 'ada', attr: 'ada', detail: ['ada'] }]) {
      const { message, hint } = refuse('persons.retrieve', status, body);
      expect(`${message} ${hint}`).not.toContain('ada');
    }
});

const denied = { type: 'authentication_error', code: 'permission_denied', detail: 'Denied.' };

test('a missing scope is named, by the service and by the hint', () => {
  const error = refuse('persons.delete', 403, { detail: "API key missing required scope 'person:write'" });
  expect(error.message).toBe('the API key may not do this (DELETE /persons/:id answered 403: person:write)');
  expect(error.hint).toBe('give the key the scope person:write, and access to the project');
  expect(refuse('persons.properties_timeline', 403, denied).hint).toBe('give the key access to the project');
});

test.for([
  [
    'API key does not have access to the requested project: ID 4711.',
    'API key does not have access to the requested project: ID …',
  ],
  [
    'API keys with scoped projects are only supported on project-based endpoints.',
    'API keys with scoped projects are only supported on project-based endpoints.',
  ],
  ['You do not have editor access to this resource.', 'You do not have editor access to this resource.'],
  [
    'Your organization Ada & Co does not permit members to use personal API keys',
    'Your organization … does not permit members to use personal API keys',
  ],
])('a denial for another reason than a scope is shown in its own words: %s', ([detail, shown]) => {
  const { message, hint } = refuse('persons.list', 403, { ...denied, detail });
  expect(message).toBe(`the API key may not do this (GET /persons answered 403: permission_denied, “${shown}”)`);
  expect(hint).toMatch(/^the words of the service say what is missing/);
});

test('a denial in other words is no reason to name another cause', () => {
  expect(refuse('persons.list', 403, { ...denied, detail: 'Ada Lovelace has no access' })).toMatchObject({
    code: 'refused',
    message: 'the API key may not do this (GET /persons answered 403: permission_denied)',
    hint: 'give the key the scope person:read, and access to the project',
  });
});

test('a 403 with the page of a firewall refuses no key; one in JSON does, whatever its fields are', () => {
  const error = refuse('persons.list', 403, '<h1>You do not have access to this project</h1>');
  expect(error).toMatchObject({ code: 'service', isForeign: true, retryable: false });
  expect(error.message).toBe("a 403 that is not in the service's own words (GET /persons answered 403)");
  expect(error.hint).toMatch(/^a firewall or proxy .* else give the key the scope person:read/);
  for (const body of [undefined, { success: false }, { message: 'Forbidden' }])
    expect(refuse('persons.list', 403, body)).toMatchObject({ code: 'refused', isForeign: false });
});

test('an answer that is no JSON is told apart: a proxy may have written it', () => {
  expect(refuse('persons.update', 404, '<h1>Not Found</h1>').isForeign).toBe(true);
  const words = { type: 'invalid_request', code: 'not_found', detail: 'Not found.' };
  for (const foreign of [
    undefined,
    'no',
    {},
    { code: 'not_found' },
    { ...words, code: 'error' },
    { message: 'no Route matched' },
  ])
    expect(refuse('persons.update', 404, foreign).isForeign).toBe(true);
  expect(refuse('persons.update', 404, words).isForeign).toBe(false);
});

test('a wait that the service asks for is passed on', () => {
  expect(refuse('persons.list', 429, undefined, 17_000).retryAfterMs).toBe(17_000);
  expect(refuse('persons.list', 503, undefined, 30_000).retryAfterMs).toBe(30_000);
  expect(refuse('persons.list', 429).retryAfterMs).toBeUndefined();
});

test.for([
  ['0', 0],
  ['120', 120_000],
  [' 1.5 ', 1500],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Thursday, 01-Jan-26 00:01:00 GMT', 60_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1e3', undefined],
  ['Infinity', undefined],
  ['try again in 2099', undefined],
  ['2202', 2_202_000],
  ['3601', hourMs + 1000],
  ['99999999999999999999', 1e23],
  ['Thu, 01 Jan 2026 01:00:01 GMT', hourMs + 1000],
  [undefined, undefined],
  ['Thu, 99 Foo 2026 00:01:00 GMT', undefined],
] as const)('Retry-After: %j is %d ms', ([value, ms]) => {
  expect(parseRetryAfterMs(value, undefined, nowMs)).toBe(ms);
});

test('a date is compared with that of the answer, whatever the clock of this machine says', () => {
  const [date, later] = ['Thu, 01 Jan 2026 05:00:00 GMT', 'Thu, 01 Jan 2026 05:10:00 GMT'];
  expect(parseRetryAfterMs(later, date, nowMs)).toBe(600_000);
  expect(parseRetryAfterMs(later, 'wrong', nowMs)).toBe(5 * hourMs + 600_000);
});

test('a wait that is too long is not obeyed, and told with its end', () => {
  const { retryAfterMaxMs } = limits;
  expect(refuse('persons.list', 429, undefined, retryAfterMaxMs)).toMatchObject({ retryable: true });
  const { message, hint, ...tooLong } = refuse('persons.list', 429, undefined, retryAfterMaxMs + 1000);
  expect(tooLong).toMatchObject({ code: 'service', retryable: false });
  expect(message).toBe(
    'the service asks to wait until 2026-01-01 02:00:01 UTC, which is too long (GET /persons answered 429)',
  );
  expect(hint).toContain('retry.retryAfterMaxMs');
  const years = refuse('persons.list', 429, undefined, 1e23).message;
  expect(years).toContain('the service asks to wait for more than 100 years');
});

const otherAddress = 'set service.baseUrl and service.pathPrefix to the address that the service really answers on';

test.for([
  [
    'https://us.example.com/api/projects/5/persons/',
    '/api/projects/…/persons/',
    'set service.pathPrefix: /api/projects',
  ],
  ['/api/projects/5/persons?secret=1', '/api/projects/…/persons', 'set service.pathPrefix: /api/projects'],
  [
    'https://eu.example.com/api/environments/5/persons/',
    '/api/environments/…/persons/',
    'set service.baseUrl to the host that the service really answers on',
  ],
  ['https://sso.example.com/login/Ann%20Smith?next=x', '/login/…', otherAddress],
  ['https://', undefined, otherAddress],
  [undefined, undefined, otherAddress],
] as const)('a redirect to %s is told by its path, and what to set', ([location, path, hint]) => {
  const redirected = {
    ...limits,
    body: undefined,
    retryAfterMs: undefined,
    path: '/api/environments/5/persons/?limit=1',
  };
  const error = refusalError(endpoints['persons.list'], { ...redirected, status: 307, location });
  const to = path === undefined ? '' : ` to ${path}`;
  expect(error.message).toMatch(new RegExp(`^the service redirects${to} \\(GET /persons answered 307\\)`));
  expect(error.hint).toBe(hint);
  expect(`${error.message} ${error.hint}`).not.toMatch(/example|Ann|secret/);
});

test('a redirect of one person names no person', () => {
  const path = '/api/environments/5/persons/4711/';
  const location = 'https://us.example.com/api/projects/5/persons/4711/';
  const error = refusalError(endpoints['persons.retrieve'], {
    status: 307,
    ...limits,
    body: '',
    retryAfterMs: undefined,
    path,
    location,
  });
  expect(error.hint).toBe('set service.pathPrefix: /api/projects');
  expect(error.message).not.toContain('4711');
});

test('a rejected question names the setting that has added to it, where one has', () => {
  const rejected = (name: EndpointName, extraNames: string[]) =>
    refusalError(endpoints[name], { status: 400, body: {}, retryAfterMs: undefined, ...limits, extraNames }).hint;
  expect(rejected('recordings.list', ['date_from'])).toBe(
    'check the setting recordings.query, which adds date_from to the question',
  );
  expect(rejected('recordings.list', [])).toBe('check what was sent');
  expect(rejected('persons.delete', ['delete_recordings'])).toBe('check what was sent');
});

test('a quota that is used up is told as the account’s own, and not as a wrong request', () => {
  const error = refuse('recordings.list', 402, { detail: 'ada@example.com has to pay' });
  expect(error.message).toBe('the account at the service has used up its quota (GET /session_recordings answered 402)');
  expect(error.hint).toMatch(/quota/);
});
