import { existsSync, readFileSync, writeFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { commandsIn } from '../../config/man-page.ts';
import { verifyBundle } from '../../docs/verifier/verify.mjs';
import type { LivingPerson } from '../../src/sandbox/store/truth.ts';
import { authorityServer, witnessServer } from '../anchor/servers.ts';
import { witnessVkey } from '../anchor/witness.ts';
import { policyText } from '../ledger/anchored-vectors.ts';
import { jsonOf, runCliHere, startCli, type Ended } from './run-cli.ts';
import { serviceOfEarlier } from './service-of-earlier.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

// One story of every command, in the order in which an operator meets them. The details have tests of their own, in
// `*.e2e.long.test.ts`.
vi.setConfig({ testTimeout: 120_000 });

const settings = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0', '--log-level', 'error'];

let workspace: Workspace;
let persons: LivingPerson[];
/** The commands that were run, by their names. */
const seen = new Set<string>();
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 60, recordings: 12, ...serviceOfEarlier });
  persons = [...workspace.sandbox.living()];
});
afterAll(() => workspace[Symbol.asyncDispose]());

/**
 * Runs a command, which has to end with a code: at its first time as a process of its own, as everybody does, and later in this
 * one, which starts sooner. `name` is its name, of one word or two.
 */
async function run(name: string, args: readonly string[] = [], code = 0): Promise<Ended> {
  const line = [...name.split(' '), ...args, ...settings];
  const ended = await (seen.has(name) ? runCliHere(line, workspace.env) : workspace.run(line));
  seen.add(name);
  expect({ name, ...ended }).toMatchObject({ code });
  return ended;
}

async function json(name: string, args: readonly string[] = [], code = 0): Promise<Record<string, unknown>> {
  return jsonOf(await run(name, [...args, '--json'], code)) as Record<string, unknown>;
}

/** Writes a file of identifiers: the person of each index, by uuid. */
function fileOf(...indexes: readonly number[]): string {
  const path = join(workspace.folder, `persons-${indexes.join('-')}.csv`);
  writeFileSync(path, indexes.map((index) => `uuid,${uuidOf(index)}\n`).join(''));
  return path;
}

function uuidOf(index: number): string {
  return persons[index]?.uuid ?? '';
}

/** Adds requests for persons. Returns their ids. */
async function add(file: string, code = 0): Promise<string[]> {
  const authority = ['--basis', 'objection', '--by', 'dpo'];
  const { requests } = await json('erase add', ['--file', file, ...authority], code);
  return (requests as { id: string }[]).map(({ id }) => id);
}

async function mirrored(): Promise<string[]> {
  const { rows } = await json('query', ['SELECT uuid FROM persons ORDER BY 1']);
  return (rows as string[][]).flat();
}

it('cluster and its orders: without a database that machines share, one sentence says so', async () => {
  expect((await run('cluster list', [], 2)).stderr).toContain('no cluster is configured');
  for (const order of ['pause', 'resume', 'drain', 'forget']) await run(`cluster ${order}`, ['shop'], 2);
  await run('cluster move', ['shop', 'mirror-2'], 2);
  await run('cluster import', ['--from', 'elsewhere'], 2);
  await run('cluster export', ['--to', 'elsewhere'], 2);
});

it('config print, doctor and plan: the settings hold, the key works, a pass has its cost', async () => {
  expect((await run('config print')).stdout).toContain('pageSize');
  expect((await run('config print')).stdout).not.toContain(workspace.sandbox.apiKey);
  const seenProject = { check: 'service: projects', state: 'ok', detail: 'the key sees 1 project: 1 (Sandbox)' };
  expect(await json('doctor')).toMatchObject({ findings: expect.arrayContaining([seenProject]) });
  expect((await run('plan')).stdout).toContain('persons');
});

it('call and sync: the mirror holds what the service holds', async () => {
  const { status } = await json('call', ['persons.list', '--param', 'limit=1']);
  expect(status).toBe(200);
  expect(await json('sync')).toMatchObject({ passes: [{ verdict: 'complete' }, { verdict: 'complete' }] });
  expect(await mirrored()).toEqual(persons.map(({ uuid }) => uuid).toSorted());
});

it('export, snapshots and status: the snapshots have as many rows as the mirror', async () => {
  expect((await run('snapshots', [], 1)).stderr).toContain('nothing is published');
  await run('export');
  expect((await run('export')).stdout).toMatch(/^Unchanged, so nothing new was published: persons since 2\d{3}-/m);
  expect((await run('status')).stdout).toMatch(/^persons .* at 2\d{3}-.* UTC/m);
  const { snapshots } = await json('snapshots', ['persons']);
  expect(snapshots).toMatchObject([{ dataset: 'persons', kind: 'full', rows: persons.length }]);
  const paths = (await run('snapshots', ['--files'])).stdout.trim().split('\n');
  expect(paths.length).toBeGreaterThanOrEqual(4);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  expect((await run('snapshots', ['--sql', 'duckdb'])).stdout).toContain('CREATE OR REPLACE TABLE "recordings"');
  expect((await run('snapshots', ['persons', '--dbt'])).stdout).toContain('name: analytics_mirror');
  expect((await run('snapshots', ['persons', '--dbt', 'model'])).stdout).toContain("materialized='incremental'");
  const copy = join(workspace.dataDir, 'snapshots');
  expect((await run('snapshots', ['--verify', copy])).stdout).toContain('the copy is what is published now');
  expect((await run('snapshots', ['--verify', join(copy, 'persons', 'x')], 2)).stderr).toContain(
    'cannot read the folder',
  );
  expect((await run('status')).stdout).toMatch(/persons/);
  expect(existsSync(join(workspace.dataDir, 'snapshots', 'CURRENT.json'))).toBe(true);
});

it('load and snapshots: a warehouse has the rows of the mirror', async () => {
  const file = join(workspace.folder, 'warehouse.duckdb');
  expect((await run('snapshots', ['--verify', file], 1)).stderr).toContain(
    'the file of the warehouse cannot be opened',
  );
  expect((await run('load', ['--into', file])).stdout).toMatch(/^persons +\S+ +complete +all rows$/m);
  expect((await run('load', ['--into', file])).stdout).toMatch(/^persons +\S+ +complete +nothing new$/m);
  expect((await run('snapshots', ['--verify', file])).stdout).toContain(
    `persons is what is published now (${persons.length} rows of ${persons.length})`,
  );
});

it('where, erase add, list, show, receipt, amend and cancel: a request is received, shown, mended and given up', async () => {
  const file = fileOf(3, 4);
  expect((await run('where', ['--file', fileOf(3)])).stdout).toMatch(/mirror\.db persons +1\n/);
  const [first = '', second = ''] = await add(file);
  expect((await run('erase list')).stdout).toContain(first.slice(0, 8));
  expect((await run('erase show', [first])).stdout).toContain(first);
  await run('erase receipt', [first, '--out', join(workspace.folder, 'receipt.json')]);
  const words = ['--basis', 'art-17', '--by'];
  expect((await run('erase add', ['--file', file, ...words, 'a letter'], 2)).stderr).toContain(
    '--by takes a reference',
  );
  const amended = (await run('erase amend', [first, ...words, 'TICKET-812'])).stdout;
  expect(amended).toContain('record the basis art-17 as `other`');
  expect((await run('erase list')).stdout).toContain('TICKET-812');
  expect((await run('erase amend', [first, '--identity', 'Ann Smith'], 2)).stderr).toMatch(
    /Allowed choices are logged_in/,
  );
  await run('erase amend', [first, '--identity', 'logged_in', '--decided-by', 'support']);
  expect((await run('erase show', [first])).stdout).toMatch(/decided by +support\nidentity +logged in\n/);
  expect((await run('erase cancel', [second])).stdout).toBe(`cancelled ${second}\n`);
});

it('access list, answer and cancel: there is none, and none that is named', async () => {
  expect((await run('access list')).stdout).toBe('no open request for access\n');
  for (const end of ['answer', 'cancel'])
    expect((await run(`access ${end}`, ['3f2a'], 2)).stderr).toContain('there is no request for access of that id');
  expect((await run('where', ['--request', '3f2a'], 2)).stderr).toContain('there is no request for access of that id');
});

it('reconcile: the person leaves the service, the mirror and every published file, with a certificate', async () => {
  expect(await json('reconcile')).toMatchObject({
    erasure: { fenced: 1, verified: 1, certified: 1, sealed: 1, residue: 0 },
  });
  const gone = uuidOf(3);
  expect(await mirrored()).toEqual(
    persons
      .map(({ uuid }) => uuid)
      .filter((uuid) => uuid !== gone)
      .toSorted(),
  );
  expect([...workspace.sandbox.living()].map(({ uuid }) => uuid)).not.toContain(gone);
  const { subjects } = await json('erase scan', ['--file', fileOf(3)]);
  expect(subjects).toMatchObject([{ hits: 0 }]);
});

it('erase add: a person who was erased before is told the earlier request, with a receipt', async () => {
  const folder = join(workspace.folder, 'answers');
  const asked = ['--file', fileOf(3), '--basis', 'objection', '--by', 'dpo', '--receipts', folder];
  const { requests, receipts } = await json('erase add', asked, 4);
  const [request] = requests as { id: string; reason: string; erasedBy: string }[];
  expect(request).toMatchObject({ reason: 'already_erased', erasedBy: expect.any(String) });
  const text = readFileSync(String((receipts as string[])[0]), 'utf8');
  expect(verifyBundle({ text })).toMatchObject({ ok: true, entries: 2 });
  expect(verifyBundle({ text: text.replace('already_erased', 'unknown_subject') }).ok).toBe(false);
  const receipt: unknown = JSON.parse(text);
  expect(receipt).toMatchObject({ answer: { reason: 'already_erased', erased_by: request?.erasedBy } });
  const { stdout } = await run('where', ['--file', fileOf(3)]);
  expect(stdout).toContain(`erased before, by request ${request?.erasedBy}`);
  const late = [String(request?.id), '--out', join(folder, 'late.json')];
  expect((await run('erase receipt', late, 2)).stderr).toContain('was refused as soon as its person was looked for');
});

it('erase readmit: a person who comes back is kept out until the person is readmitted', async () => {
  const uuid = uuidOf(3);
  workspace.sandbox.act({ do: 'resurrect', uuid });
  await run('sync', ['persons']);
  expect(await mirrored()).not.toContain(uuid);
  const { requests } = await json('where', ['--file', fileOf(3)]);
  const [{ id } = { id: '' }] = requests as { id: string }[];
  await run('erase readmit', [id, '--reason', 'a new contract']);
  await run('sync', ['persons']);
  expect(await mirrored()).toContain(uuid);
  expect(readFileSync(join(workspace.dataDir, 'ledger', 'entries.jsonl'), 'utf8')).not.toContain('contract');
});

it('erase acknowledge: a consumer that has deleted too is on the ledger, and named with those that have not', async () => {
  const { requests } = await json('erase list', ['--all']);
  const { id } = (requests as { id: string; state: string }[]).find(({ state }) => state === 'sealed') ?? { id: '' };
  const given = ['--set', 'export.consumers=["crm","warehouse"]'];
  await run('erase acknowledge', [id, '--consumer', 'warehouse', '--note', 'TICKET-840', ...given]);
  expect((await run('erase acknowledge', [id, '--consumer', 'lake', ...given], 2)).stderr).toContain('crm, warehouse');
  expect(await json('erase show', [id, ...given])).toMatchObject({
    acknowledgements: [
      { consumer: 'crm', acknowledgedAt: null },
      { consumer: 'warehouse', acknowledgedAt: expect.any(String) as string },
    ],
  });
  expect((await run('erase acknowledge', ['--consumer', 'warehouse', ...given], 2)).stderr).toContain('--report');
});

it('erase kit: statements that hold no key, and a file that holds it', async () => {
  const key = join(workspace.folder, 'fence.key');
  const given = [
    '--for',
    'duckdb',
    '--consumer',
    'warehouse',
    '--table',
    'mart.events:who=uuid,team=value:7',
    '--key',
    key,
  ];
  expect((await run('erase kit', given, 2)).stderr).toContain('export.fence names no such consumer');
  const named = ['--set', 'export.consumers=["warehouse"]', '--set', 'export.fence=[{"consumer":"warehouse"}]'];
  const { stdout } = await run('erase kit', [...given, ...named]);
  const secret = readFileSync(key, 'utf8').trim();
  expect(secret).toMatch(/^[0-9a-f]{128}$/);
  expect([secret.slice(0, 64), secret.slice(64)].filter((part) => stdout.includes(part))).toEqual([]);
  expect(statSync(key).mode & 0o777).toBe(0o600);
  const inside = given.with(given.length - 1, join(workspace.dataDir, 'fence.key'));
  expect((await run('erase kit', [...inside, ...named], 2)).stderr).toContain('cannot lie in the data folder');
  expect((await run('erase kit', [...given.with(5, 'events'), ...named], 2)).stderr).toContain('--table does not say');
  expect((await run('erase kit', [...given.slice(0, 4), ...named], 2)).stderr).toContain(
    "'--table <table>' not specified",
  );
});

it('erase approve: a request that touches another person is held until it is approved', async () => {
  const index = persons.findIndex(({ distinct_ids: ids }, at) => at > 10 && ids.length > 2);
  workspace.sandbox.act({ do: 'split', uuid: uuidOf(index) });
  await run('sync');
  const [id = ''] = await add(fileOf(index), 4);
  await run('reconcile', [], 4);
  expect((await run('status', ['--check'], 4)).stdout).toMatch(
    /^Your approval is needed: 1 erasure request\nmirror in .*\n\nATTENTION: /,
  );
  await run('erase approve', [id]);
  await run('reconcile');
  expect((await run('status', ['--check'])).stdout).toMatch(/^All is well\n/);
  expect([...workspace.sandbox.living()].map(({ uuid }) => uuid)).not.toContain(uuidOf(index));
});

it('audit: a person can hold the receipt against the certificate, and everything verifies', async () => {
  const receipt = join(workspace.folder, 'receipt.json');
  const opened = await json('audit open', [receipt, '--uuid', uuidOf(3)]);
  expect(opened).toMatchObject({ verdict: 'is_about', certificates: [{ file: 'sound' }] });
  // The person was let in again since.
  const request = String(opened['request']);
  expect((await run('audit certificate', [request], 2)).stderr).toContain('is superseded: readmitted (');
  const { certificate } = await json('audit certificate', [request, '--superseded']);
  expect(certificate).toMatchObject({ request });
  const { file: bundle } = await json('audit bundle', [request, '--superseded']);
  expect(readFileSync(String(bundle), 'utf8')).not.toContain(uuidOf(3));
  expect(await json('audit report')).toMatchObject({ totals: { complete: 2 } });
  const kept = join(workspace.folder, 'checkpoint.txt');
  await run('audit checkpoint', ['--out', kept]);
  // What cannot be written is named, and not the data folder.
  const nowhere = join(kept, 'below');
  for (const [command, args] of [
    ['audit checkpoint', ['--out', nowhere]],
    ['where', ['--file', fileOf(3), '--export', nowhere]],
  ] as const)
    expect((await run(command, args, 2)).stderr).toContain(`cannot write ${nowhere} (`);
  await run('audit rotate-key');
  expect(await json('audit verify', ['--checkpoint', kept])).toMatchObject({ ok: true, certificates: 2 });
  const entries = readFileSync(join(workspace.dataDir, 'ledger', 'entries.jsonl'), 'utf8');
  expect(entries).not.toContain(uuidOf(3));
});

it('erase drill: an invented person is erased, step by step, and the result is filed', async () => {
  const { steps, file } = await json('erase drill');
  expect((steps as { passed: boolean }[]).filter(({ passed }) => !passed)).toEqual([]);
  expect(existsSync(String(file))).toBe(true);
});

it('run: the worker does its jobs by schedule until it is stopped', async () => {
  const idle = ['full', 'recordings', 'playlists', 'export', 'checkpoint', 'drill', 'reconcile'];
  seen.add('run');
  const schedule = [...idle.map((job) => `schedule.${job}=null`), 'schedule.head="* * * * * *"'];
  const worker = workspace.start([
    'run',
    '--json',
    '--set',
    'status.port=0',
    ...settings,
    ...schedule.flatMap((value) => ['--set', value]),
  ]);
  const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
  expect((await fetch(`${statusUrl}/healthz`)).status).toBe(200);
  await vi.waitFor(
    async () => {
      const status = await (await fetch(`${statusUrl}/status.json`)).text();
      expect(status).toMatch(/"job":"head"[^}]*"lastOutcome":"done"/);
    },
    { timeout: 20_000, interval: 100 },
  );
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

it('sandbox: serves the documented service until it is stopped', async () => {
  seen.add('sandbox');
  const served = startCli(['sandbox', '--json', '--persons', '5', '--recordings', '1']);
  const { url } = JSON.parse(await served.output('stdout', /\n/)) as { url: string };
  expect(await (await fetch(`${url}/__sandbox/truth`)).text()).toContain('"state":"version"');
  served.child.kill('SIGTERM');
  expect((await served.ended).code).toBe(0);
});

it('audit anchor: an authority and a witness vouch for the ledger, and an auditor sees it by a policy', async () => {
  const folder = join(workspace.dataDir, 'ledger');
  const authority = await authorityServer(Date.now);
  const witness = await witnessServer(
    () => readFileSync(join(folder, 'public-keys.txt'), 'utf8').trim().split('\n'),
    Date.now,
  );
  const certificates = fileURLToPath(new URL('../anchor/keys/authority-root.pem', import.meta.url));
  const anchors = [
    { timeStampAuthority: authority.url, certificates },
    { witness: witness.url, key: witnessVkey() },
  ];
  const given = ['--set', `audit.anchors=${JSON.stringify(anchors)}`];
  expect((await run('audit anchor', [], 2)).stderr).toContain('no anchor is configured');
  const { anchors: asked } = await json('audit anchor', given);
  expect(asked).toMatchObject([{ result: 'anchored' }, { result: 'anchored' }]);
  const policy = join(workspace.folder, 'policy.json');
  writeFileSync(policy, policyText(folder, { max_age_seconds: 30 * 86_400 }));
  expect(await json('audit verify', ['--policy', policy, ...given])).toMatchObject({ ok: true, problems: [] });
  writeFileSync(policy, policyText(folder, { max_age_seconds: 30 * 86_400 }, 1));
  expect(await json('audit verify', ['--policy', policy], 1)).toMatchObject({ ok: false });
  expect((await run('audit verify', ['--policy', join(folder, 'public-keys.txt')], 2)).stderr).toContain('no policy');
  const line = { check: 'anchors', state: 'ok' };
  expect(await json('doctor', given)).toMatchObject({
    findings: expect.arrayContaining([expect.objectContaining(line)]),
  });
  await run('erase scan');
  witness.isAway = true;
  // The ledger goes on under another key, which the witness has to know.
  await run('audit rotate-key');
  expect((await run('audit anchor', given, 4)).stdout).toMatch(/^anchored .*\naway .* gave no cosignature/);
  witness.isAway = false;
  await run('audit anchor', given);
});

it('backup: a copy lies beside the data folder, and can be read', async () => {
  const { folder, entries } = await json('backup', ['--to', join(workspace.folder, 'backups')]);
  expect(entries).toBeGreaterThan(0);
  expect(await json('query', ['SELECT count(*) FROM persons', '--data-dir', String(folder)])).toHaveProperty('rows');
});

it('no command of the program is without a story here', async () => {
  const namesIn = async (...args: readonly string[]): Promise<string[]> =>
    commandsIn((await runCliHere([...args, '--help'])).stdout);
  const groups = ['access', 'erase', 'audit', 'config', 'cluster'];
  const names = (await namesIn()).filter((name) => !groups.includes(name));
  for (const group of groups) names.push(...(await namesIn(group)).map((name) => `${group} ${name}`));
  // `.ci/package` has the demo, `init.e2e.long.test.ts` the first hour.
  expect(names.toSorted()).toEqual([...seen, 'demo', 'init'].toSorted());
});
