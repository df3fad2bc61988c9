import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { firstConfiguration, presets } from '../../src/config/presets.ts';
import { shellWord } from '../../src/core/words.ts';
import type { PassPlan } from '../../src/status/cost-forecast.ts';
import { localServer } from '../client/local-server.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { jsonOf, runCli } from './run-cli.ts';
import { openWorkspace } from './workspace.ts';

/** Runs a command as a user does who stands in a folder. */
const inFolder = (folder: string, env: Record<string, string>) => (line: string) =>
  runCli(line.split(' '), { env: { HOME: folder, ...env }, shell: `cd ${shellWord(folder)} && exec "$@"` });

it('from an empty folder to the first snapshot: init, sync, export', async () => {
  await using workspace = await openWorkspace({ profile: 'live', live: { projectsListed: true } });
  const folder = freshFolder();
  const run = inFolder(folder, { MIRROR_API_KEY: workspace.sandbox.apiKey });
  const begun = await run(`init --base-url ${workspace.sandbox.url} --yes`);
  expect(begun).toMatchObject({ code: 0 });
  expect(begun.stdout).toContain('the key sees 1 project: 1 (Sandbox)');
  expect(begun.stdout).toContain('the key may change persons (person:write)');
  expect(begun.stdout).toMatch(/^full pass +rows/m);
  const file = join(folder, 'analytics-mirror.yaml');
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(workspace.sandbox.apiKey);
  expect(parse(text)).toMatchObject({ dataDir: join(folder, 'data'), service: { projectId: '1' } });
  expect(await run('sync')).toMatchObject({ code: 0 });
  expect(await run('export')).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, 'data', 'snapshots', 'CURRENT.json'))).toBe(true);

  // A name is as good as an id, and one that the key does not see is told with those that it sees.
  const byName = `init --base-url ${workspace.sandbox.url} --yes --data-dir other --out named.yaml`;
  const unknown = await run(`${byName} --project-id Sandbx`);
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toContain('the key sees 1 project: 1 (Sandbox)');
  expect((await run(`${byName} --project-id Sandbox`)).code).toBe(0);
  expect(parse(readFileSync(join(folder, 'named.yaml'), 'utf8'))).toMatchObject({ service: { projectId: '1' } });

  // It is found from elsewhere in the user's own folder, and never replaced.
  expect((await run('init --yes --base-url http://127.0.0.1:1')).stderr).toContain('there is a configuration already');
  chmodSync(file, 0o666);
  const open = await run('status');
  expect(open).toMatchObject({ code: 2, stdout: '' });
  expect(open.stderr).toContain(`another user may have written the configuration file ${file}`);
});

it('a key that is limited to one project: the project is named, nothing is warned of falsely, and the persons are counted', async () => {
  await using workspace = await openWorkspace({ profile: 'live', persons: 1300 });
  const folder = freshFolder();
  const run = inFolder(folder, { MIRROR_API_KEY: workspace.sandbox.apiKey });
  const line = `init --yes --preset posthog-self-hosted --base-url ${workspace.sandbox.url}`;
  const unnamed = await run(line);
  expect(unnamed).toMatchObject({ code: 2, stdout: '' });
  expect(unnamed.stderr).toContain('so the project has to be named');
  expect(unnamed.stderr).toMatch(/--project-id or MIRROR_PROJECT_ID: it is the number after \/project\//);
  expect(existsSync(join(folder, 'analytics-mirror.yaml'))).toBe(false);

  const before = JSON.stringify([...workspace.sandbox.living()]);
  workspace.sandbox.clearRequests();
  const ended = await run(`${line} --json --project-id 1`);
  expect(ended.code).toBe(0);
  const { findings, plan } = jsonOf(ended) as { findings: { check: string; state: string }[]; plan: PassPlan };
  expect(findings.filter(({ state }) => state === 'warning' || state === 'failed')).toEqual([]);
  expect(findings).toContainEqual(expect.objectContaining({ check: 'service: deleting persons', state: 'ok' }));
  expect(plan.passes[0]).toMatchObject({ dataset: 'persons', rows: 1300, rowsFrom: 'service', requests: 3 });
  expect(parse(readFileSync(join(folder, 'analytics-mirror.yaml'), 'utf8'))).toMatchObject({
    service: { projectId: '1', pathPrefix: '/api/projects' },
    recordings: { query: { date_from: '-30d' } },
  });
  expect(JSON.stringify([...workspace.sandbox.living()])).toBe(before);
});

it('a service that no longer knows the documented prefix gets the one that live services want', async () => {
  const asked: string[] = [];
  const notFound = '{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}';
  const { origin } = await localServer((request, response) => {
    asked.push(request.url ?? '');
    const isKnown = request.url?.startsWith('/api/projects/1/') === true && request.method === 'GET';
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isKnown ? '{"next":null,"previous":null,"results":[]}' : notFound);
  });
  const folder = freshFolder();
  const run = inFolder(folder, { MIRROR_API_KEY: 'key' });
  const ended = await run(`init --json --yes --preset none --base-url ${origin} --project-id 1`);
  expect(ended.code).toBe(0);
  expect(asked[0]).toMatch(/^\/api\/environments\/1\/persons\//);
  expect(parse(readFileSync(join(folder, 'analytics-mirror.yaml'), 'utf8'))).toMatchObject({
    service: { pathPrefix: '/api/projects' },
  });
});

it('a key that cannot delete is told, and the configuration is written all the same', async () => {
  await using workspace = await openWorkspace({});
  const run = inFolder(freshFolder(), { MIRROR_API_KEY: workspace.sandbox.readOnlyKey });
  const ended = await run(`init --json --yes --project-id 1 --base-url ${workspace.sandbox.url}`);
  expect(ended.code).toBe(0);
  const { ok, findings } = jsonOf(ended) as { ok: boolean; findings: { check: string; state: string }[] };
  expect(ok).toBe(true);
  expect(findings).toContainEqual(expect.objectContaining({ check: 'service: deleting persons', state: 'warning' }));
});

it('without an address, a key or a project it says what is missing, and writes nothing', async () => {
  const folder = freshFolder();
  await using workspace = await openWorkspace({});
  const wrong = await inFolder(folder, {})(`init --yes --base-url ${workspace.sandbox.url}`);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toContain('the API key (MIRROR_API_KEY or MIRROR_API_KEY_FILE)');
  // Before the first question, and before the service is asked.
  const keyless = await inFolder(folder, {})('init');
  expect(keyless.stderr).toMatch(/^error: not configured: the API key /);
  const nowhere = await inFolder(folder, { MIRROR_API_KEY: 'x' })('init --yes --out missing/a.yaml');
  expect(nowhere.stderr).toMatch(/^error: cannot write .*missing\/a\.yaml \(ENOENT\)\n {2}name a place in a folder/);
  const addressless = await inFolder(folder, { MIRROR_API_KEY: 'x' })('init --yes');
  expect(addressless.stderr).toContain('the address of the service is missing\n  name it with --base-url');
  const refused = await inFolder(folder, { MIRROR_API_KEY: 'x' })(`init --yes --base-url ${workspace.sandbox.url}`);
  expect(refused.code).toBe(3);
  expect(existsSync(join(folder, 'analytics-mirror.yaml'))).toBe(false);
});

it.each(Object.entries(presets))('what is written for %s are settings, and an editor knows them', (_name, preset) => {
  const schema = new URL('../../config/settings.schema.json', import.meta.url).href;
  const baseUrl = preset.baseUrl ?? 'https://analytics.example.com';
  const text = firstConfiguration({ ...preset, baseUrl, projectId: '7', dataDir: '/srv/"mirror"', schema });
  const configFile = join(freshFolder(), 'written.yaml');
  writeFileSync(configFile, text, { mode: 0o600 });
  const { settings } = loadSettings({}, { configFile });
  expect(settings).toMatchObject({ dataDir: '/srv/"mirror"', service: { baseUrl, projectId: '7' } });
  expect(settings.budget.windows).toEqual(loadSettings({}).settings.budget.windows);
  const isKnown = preset.learnUpTo !== null;
  expect(settings.budget.learnUpTo).toEqual(isKnown ? { requests: 14_400, perSeconds: 3600 } : null);
  expect(existsSync(new URL(/^# yaml-language-server: \$schema=(\S+)$/m.exec(text)?.[1] ?? ''))).toBe(true);
});
