import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ErrorBody } from '../../src/contract/error-body.ts';
import { endpoints } from '../../src/contract/endpoints.ts';
import { projectEndpoints, readProjects } from '../../src/contract/projects.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { ask, askUrl, smallSandbox, standingClock } from './sandbox-requests.ts';

const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
};

it('a folder opened again keeps its data, keys and time, and runs the batch it slept through', async () => {
  const dir = folder();
  const clock = standingClock('2025-06-04T12:00:00Z');
  const first = await smallSandbox({ dir, clock });
  await ask(first, '/persons/2', { method: 'DELETE' });
  await ask(first, '/persons/3?delete_events=true', { method: 'DELETE' });
  first.clock.moveTo(Date.parse('2025-06-05T12:00:00Z'));
  const list = (await ask(first, '/persons')).text.replaceAll(first.url, '');
  await first.close();

  await using second = await smallSandbox({ dir, clock, persons: 5, seed: 99 });
  expect([second.apiKey, second.playlists]).toEqual([first.apiKey, first.playlists]);
  expect((await ask(second, '/persons')).text.replaceAll(second.url, '')).toBe(list);
  expect(second.clock.now()).toBe(Date.parse('2025-06-05T12:00:00Z'));
  expect(second.clock.moveTo(second.clock.now() + 7 * 86_400_000)).toEqual([Date.parse('2025-06-08T05:00:00Z')]);
});

it('the read-only key reads everything and writes nothing', async () => {
  await using sandbox = await smallSandbox();
  const key = sandbox.readOnlyKey;
  const playlist = `/session_recording_playlists/${sandbox.playlists[0]}`;
  for (const path of ['/persons', '/persons/1', '/persons/1/activity', '/session_recordings', playlist]) {
    expect((await ask(sandbox, path, { key })).status).toBe(200);
  }
  for (const [method, path] of [
    ['PATCH', '/persons/1'],
    ['DELETE', '/persons/1'],
    ['POST', '/persons/1/split'],
    ['PATCH', playlist],
    ['DELETE', playlist],
  ] as const) {
    expect((await ask(sandbox, path, { method, key })).status).toBe(403);
  }
});

it('a key that may write may read the same, and no other', async () => {
  await using sandbox = await smallSandbox();
  sandbox.store.apiKeys.issue('sandbox_writer', 1, ['person:write']);
  expect((await ask(sandbox, '/persons', { key: 'sandbox_writer' })).status).toBe(200);
  expect((await ask(sandbox, '/session_recordings', { key: 'sandbox_writer' })).status).toBe(403);
});

it.each(['Basic abc', 'Bearer', 'Bearer ', 'sandbox'])('takes %j for no key', async (authorization) => {
  await using sandbox = await smallSandbox();
  const response = await fetch(`${sandbox.url}/api/environments/1/persons`, { headers: { authorization } });
  expect(response.status).toBe(401);
  expect(ErrorBody.parse(await response.json()).code).toBe('not_authenticated');
});

it('answers an unknown path with 404 and a wrong method with 405, both as JSON', async () => {
  await using sandbox = await smallSandbox();
  for (const path of ['/nowhere', '/persons/1/nowhere', '/insights']) {
    const answer = await ask(sandbox, path);
    expect([answer.status, ErrorBody.parse(JSON.parse(answer.text)).code]).toEqual([404, 'not_found']);
  }
  const answer = await ask(sandbox, '/persons/1/', { method: 'PUT' });
  expect([answer.status, ErrorBody.parse(JSON.parse(answer.text)).code]).toEqual([405, 'method_not_allowed']);
  expect(answer.headers.get('allow')).toBe('GET, PATCH, DELETE, OPTIONS');
});

it('answers OPTIONS with the documented methods of the path, the one that always gets a 405 included', async () => {
  await using sandbox = await smallSandbox();
  const playlist = `/session_recording_playlists/${sandbox.playlists[0]}/`;
  for (const [path, methods] of [
    ['/persons/1/', 'GET, PATCH, DELETE, OPTIONS'],
    ['/persons', 'GET, OPTIONS'],
    [playlist, 'GET, PATCH, DELETE, OPTIONS'],
  ] as const) {
    const { status, text, headers } = await ask(sandbox, path, { method: 'OPTIONS' });
    expect([status, text, headers.get('allow')]).toEqual([204, '', methods]);
  }
  expect((await ask(sandbox, playlist, { method: 'DELETE' })).headers.get('allow')).toBe('GET, PATCH, OPTIONS');
});

describe.each(['documented', 'live'] as const)('the projects of the %s profile', (profile) => {
  it('are listed to any known key, outside every project', async () => {
    await using sandbox = await smallSandbox({ profile, live: { projectsListed: true } });
    sandbox.store.apiKeys.issue('sandbox_scopeless', 1, []);
    const list = (key: string | null) => askUrl(`${sandbox.url}/api/projects/`, { key });
    for (const key of [sandbox.apiKey, sandbox.readOnlyKey, 'sandbox_scopeless']) {
      const { status, text } = await list(key);
      expect([status, JSON.parse(text)]).toEqual([
        200,
        { count: 1, next: null, previous: null, results: [expect.objectContaining({ name: 'Sandbox' })] },
      ]);
      const { projects, isWhole } = readProjects(JSON.parse(text)) ?? {};
      expect([projects, isWhole]).toEqual([[{ id: sandbox.projectId, name: 'Sandbox' }], true]);
    }
    expect((await askUrl(`${sandbox.url}/api/projects`, { key: sandbox.apiKey })).status).toBe(200);
    expect((await list(null)).status).toBe(401);
    expect((await list('sandbox_unknown')).status).toBe(401);
    expect((await askUrl(`${sandbox.url}/api/projects/`, { key: sandbox.apiKey, method: 'POST' })).status).toBe(405);
    sandbox.act({ do: 'set_project', vanished: true });
    expect(JSON.parse((await list(sandbox.apiKey)).text)).toMatchObject({ count: 0, results: [] });
  });
});

it('the OpenAPI document has every endpoint, its scope and its error responses', async () => {
  await using sandbox = await smallSandbox();
  type Operation = {
    operationId: string;
    security: object[];
    parameters: { name: string; in: string }[];
    responses: Record<string, { content?: Record<string, object> }>;
    requestBody?: object;
    'x-required-scope'?: string;
  };
  const document = JSON.parse((await askUrl(`${sandbox.url}/openapi.json`)).text) as {
    openapi: string;
    servers: object[];
    paths: Record<string, Record<string, Operation>>;
    components: { securitySchemes: object };
  };
  expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: sandbox.url }] });
  expect(document.components.securitySchemes).toEqual({ personalApiKey: { type: 'http', scheme: 'bearer' } });
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const names = [...Object.keys(endpoints), ...Object.keys(projectEndpoints)];
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(names.toSorted());
  for (const [path, methods] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { parameters } of Object.values(methods)) {
      expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(inPath);
    }
  }
  const list = document.paths['/api/environments/{project_id}/persons']?.['get'];
  expect(list).toMatchObject({ security: [{ personalApiKey: ['person:read'] }], 'x-required-scope': 'person:read' });
  expect(Object.keys(list?.responses ?? {})).toEqual(['200', '400', '401', '403', '404']);
  expect(Object.keys(list?.responses['200']?.content ?? {})).toEqual(['application/json', 'text/csv']);
  expect(list?.parameters.map(({ name }) => name)).toContain('search');
  const refusal = document.paths['/api/environments/{project_id}/session_recording_playlists/{short_id}']?.['delete'];
  expect(refusal?.responses['405']).not.toHaveProperty('content');
});

it('the OpenAPI document says exactly which values of a query are taken', async () => {
  await using sandbox = await smallSandbox();
  const { paths } = JSON.parse((await askUrl(`${sandbox.url}/openapi.json`)).text) as {
    paths: Record<string, Record<string, { parameters: { name: string; required: boolean }[]; requestBody?: unknown }>>;
  };
  const parameter = (path: string, method: string, name: string): unknown =>
    paths[`/api/environments/{project_id}${path}`]?.[method]?.parameters.find((one) => one.name === name);
  const status = async (path: string, method = 'GET'): Promise<number> => (await ask(sandbox, path, { method })).status;

  for (const list of ['/persons', '/session_recordings']) {
    const limit = { type: 'integer', minimum: 1, maximum: 100_000, default: 100 };
    expect(parameter(list, 'get', 'limit')).toMatchObject({ required: false, schema: limit });
    const offset = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
    expect(parameter(list, 'get', 'offset')).toMatchObject({ required: false, schema: offset });
    for (const taken of ['limit=1', `limit=${limit.maximum}`, 'offset=0', `offset=${offset.maximum}`])
      expect([taken, await status(`${list}?${taken}`)]).toEqual([taken, 200]);
    for (const refused of ['limit=0', `limit=${limit.maximum + 1}`, 'offset=-1', 'offset=9007199254740992'])
      expect([refused, await status(`${list}?${refused}`)]).toEqual([refused, 400]);
  }
  expect(parameter('/persons/{id}', 'get', 'id')).toMatchObject({ schema: { type: 'integer' } });

  expect(parameter('/persons/{id}', 'delete', 'delete_events')).toMatchObject({
    required: false,
    schema: { type: 'boolean' },
  });
  for (const word of ['', 'True', '1', '0', 'yes', 'on', 'y', 'enabled'])
    expect([word, await status(`/persons/2/?delete_events=${word}`, 'DELETE')]).toEqual([word, 400]);
  expect(await status('/persons/2/?delete_events=true', 'DELETE')).toBe(204);
  expect(await status('/persons/3/?delete_events=false', 'DELETE')).toBe(204);
  expect(sandbox.store.events.deletions()).toHaveLength(1);

  expect(parameter('/persons/{id}/delete_property', 'post', '$unset')).toMatchObject({ required: true });
  expect(await status('/persons/4/delete_property/', 'POST')).toBe(400);

  expect(parameter('/persons', 'get', 'properties')).toMatchObject({
    content: { 'application/json': { schema: { type: 'array', maxItems: 50, items: { anyOf: expect.any(Array) } } } },
  });
  expect(paths['/api/environments/{project_id}/insights/trend']?.['post']?.requestBody).toMatchObject({
    content: {
      'application/json': { schema: { properties: { query: { contentMediaType: 'application/json', minLength: 1 } } } },
    },
  });
  const change = { content: { 'application/json': { schema: { properties: { properties: {} } } } } };
  expect(paths['/api/environments/{project_id}/persons/{id}']?.['patch']?.requestBody).toMatchObject(change);
});

it('close frees the port at once, also with a connection kept alive', async () => {
  const sandbox = await smallSandbox();
  const agent = new Agent({ keepAlive: true });
  await new Promise<void>((resolve, reject) => {
    get(sandbox.url, { agent }, (response) => response.resume().on('end', () => resolve())).on('error', reject);
  });
  const startedAt = performance.now();
  await sandbox.close();
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  agent.destroy();
  await sandbox.close();
  const port = Number(new URL(sandbox.url).port);
  await using again = await smallSandbox({ port });
  expect(again.url).toBe(sandbox.url);
});

it('says so when the port is taken or the folder cannot be used', async () => {
  await using sandbox = await smallSandbox();
  const port = Number(new URL(sandbox.url).port);
  const options = { persons: 0, recordings: 0, seed: 1, port };
  await expect(startSandbox(options)).rejects.toMatchObject({ code: 'usage' });
  const file = join(folder(), 'a file');
  writeFileSync(file, 'not a folder');
  await expect(startSandbox({ ...options, port: 0, dir: file })).rejects.toMatchObject({ code: 'storage' });
});
