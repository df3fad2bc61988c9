import { expect, it } from 'vitest';
import { ask, askUrl, smallSandbox } from './sandbox-requests.ts';

const live = { profile: 'live' } as const;

it('the older prefix is answered as the newer one, and declared deprecated by each answer', async () => {
  await using sandbox = await smallSandbox(live);
  const at = (prefix: string, path: string) =>
    askUrl(`${sandbox.url}/api/${prefix}/1/persons/${path}`, { key: sandbox.apiKey });
  const [older, newer] = [await at('environments', '2/'), await at('projects', '2/')];
  expect(older.text).toBe(newer.text);
  expect(older.headers.get('sunset')).toBe('Fri, 31 Jul 2026 00:00:00 GMT');
  expect(older.headers.get('deprecation')).toBe('true');
  expect((await at('environments', '9999/')).headers.get('deprecation')).toBe('true');
  expect([newer.headers.get('sunset'), newer.headers.get('deprecation')]).toEqual([null, null]);
});

it('a path that nobody knows is a page, and an unknown person is not', async () => {
  await using sandbox = await smallSandbox(live);
  for (const path of ['/nothing', '/api/nothing/', '/api/projects/1/persons/2/nothing/', '/api/projects/1/cohorts']) {
    const { status, headers, text } = await askUrl(`${sandbox.url}${path}`, { key: sandbox.apiKey });
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('<h1>Not Found</h1>');
  }
  // The first request is answered in the documented form, one of six.
  await ask(sandbox, '/persons/2/');
  const { text } = await ask(sandbox, '/persons/9999/');
  expect(JSON.parse(text)).toEqual({ type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null });
  await using documented = await smallSandbox();
  expect(JSON.parse((await askUrl(`${documented.url}/api/nothing`)).text)).toMatchObject({ code: 'not_found' });
});

it.each([
  ['other-project', 403, 403, 200],
  ['members-keys', 403, 403, 200],
  ['editing', 200, 403, 200],
  ['nothing', 200, 202, 200],
] as const)('refuses %s: reads %i, deletes %i, lists projects %i', async (refuses, read, deleted, projects) => {
  await using sandbox = await smallSandbox({ ...live, live: { refuses, projectsListed: true } });
  expect((await ask(sandbox, '/persons/2/')).status).toBe(read);
  const answer = await ask(sandbox, '/persons/2/', { method: 'DELETE' });
  expect(answer.status).toBe(deleted);
  expect((await askUrl(`${sandbox.url}/api/projects/`, { key: sandbox.apiKey })).status).toBe(projects);
  if (refuses === 'editing')
    expect(JSON.parse(answer.text)).toMatchObject({
      code: 'permission_denied',
      detail: 'You do not have editor access to this resource.',
    });
});
