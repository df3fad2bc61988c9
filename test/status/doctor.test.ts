import { claimMirror, finishRun, startRun } from '../../src/mirror/runs.ts';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Budget } from '../../src/client/budget.ts';
import type { BudgetStanding } from '../../src/client/budget-standing.ts';
import type { Deprecation } from '../../src/client/deprecation.ts';
import type { Reply, Service } from '../../src/client/service.ts';
import { createApp } from '../../src/app/app.ts';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { settingsWith } from '../config/settings-with.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { databasePath, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { finishPass, markDefaultWindow, noEvidence, startPass } from '../../src/mirror/passes.ts';
import { openSyncWorld } from '../sync/sync-world.ts';
import { snapshotFolder } from '../snapshot/paths.ts';
import type { Check } from '../../src/status/check.ts';
import { examine } from '../../src/status/doctor.ts';
import { exportCount } from '../export/export-fixture.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { type OutsideSigner, seedSigner } from '../../src/ledger/outside-signer.ts';
import { lifeOf, requestId, tickingClock } from '../ledger/ledger-fixture.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { freshFolder, openTestMirror } from '../mirror/open-test-mirror.ts';
import { plantRequest } from '../mirror/plant-request.ts';

/** A service that answers every call as told, and the names and arguments of the calls. */
function serviceThat(answer: (name: string) => Promise<Reply>) {
  const calls: [string, unknown][] = [];
  const service: Service = {
    requestCount: () => calls.length,
    heard: () => ({ dateMs: Date.now(), sentAtMs: Date.now(), answeredAtMs: Date.now() }),
    call: (name, args) => {
      calls.push([name, args]);
      return answer(name);
    },
  };
  return { service, calls };
}

const answer = (body: unknown): Promise<Reply> => Promise.resolve({ status: 200, body, date: undefined });
const shop = { id: 7, name: 'Shop' };
const bodies: Record<string, object> = {
  'projects.list': { next: null, results: [shop] },
  'playlists.recordings': { results: [], has_next: false, version: 4 },
};
const well = (name: string) => answer(bodies[name] ?? {});

/** What the doctor meets beside the data folder. */
type Given = {
  openService: () => Service;
  usedUpUntilMs: Budget['usedUpUntilMs'];
  query: object;
  own: object;
  signers: readonly OutsideSigner[];
  deprecation: Deprecation | null;
  standing: BudgetStanding;
};

/** What the doctor finds in a data folder, by the name of the check. */
async function examined(
  dataDir: string,
  {
    openService = () => serviceThat(well).service,
    usedUpUntilMs = () => Promise.resolve(null),
    query = { date_from: '-30d' },
    own = {},
    signers = [],
    deprecation = null,
    standing = { pausedUntil: null, learnt: null },
  }: Partial<Given> = {},
): Promise<Map<string, Check>> {
  const settings = settingsWith({
    dataDir,
    'service.baseUrl': 'https://analytics.example.com',
    'service.projectId': 7,
    'playlists.shortIds': ['abc'],
    'recordings.query': query,
    ...own,
  });
  const openReader = () => {
    const db = openDatabaseReadOnly(dataDir);
    onTestFinished(() => {
      db.close();
    });
    return db;
  };
  const findings = await examine({
    settings,
    openReader,
    openService,
    signers: () => signers,
    deprecation: () => deprecation,
    clock: systemClock,
    budget: { usedUpUntilMs, standing: () => Promise.resolve(standing) },
    signal: new AbortController().signal,
  });
  expect(new Set(findings.map(({ check }) => check)).size).toBe(findings.length);
  return new Map(findings.map((finding) => [finding.check, finding]));
}

const statesOf = (findings: Map<string, Check>) =>
  Object.fromEntries(Array.from(findings.values(), ({ check, state }) => [check, state]));

test('where all is well, every check says so', async () => {
  const { dataDir } = openTestMirror();
  await exportCount(dataDir, 10);
  const { service, calls } = serviceThat(well);
  const findings = await examined(dataDir, { openService: () => service });
  expect(new Set(Object.values(statesOf(findings)))).toEqual(new Set(['ok']));
  expect(findings.get('mirror')?.detail).toBe('mirror.db is sound and holds 0 persons');
  expect(findings.get('snapshots')?.detail).toMatch(/^7 published files, [\d.]+ kB, all match their manifests$/);
  expect(calls.map(([name]) => name)).toEqual([
    'persons.list',
    'projects.list',
    'recordings.list',
    'persons.update',
    'playlists.retrieve',
    'playlists.recordings',
    'playlists.update',
  ]);
  expect(calls[2]?.[1]).toMatchObject({ query: { limit: 1 }, extraQuery: { date_from: '-30d' } });
});

test('no published file is right before the first export, and a failure after it', async () => {
  const { db, dataDir } = openTestMirror();
  expect((await examined(dataDir)).get('snapshots')).toMatchObject({
    state: 'ok',
    detail: '0 published files, 0 B, all match their manifests',
  });
  const id = startRun(db, 'export', '2026-01-01T00:00:00.000Z');
  const ended = { outcome: 'done', reason: null, requests: 0, counts: { persons: 10 } } as const;
  finishRun(db, { id, ...ended, at: '2026-01-01T00:00:01.000Z' });
  expect((await examined(dataDir)).get('snapshots')).toMatchObject({
    state: 'failed',
    detail: 'no published file is there, and an export has published some',
  });
});

test('a mirror of another project than the configured one is a failure, with what the jobs say', async () => {
  const { db, dataDir } = openTestMirror();
  claimMirror(db, { origin: 'https://analytics.example.com', projectId: '8' }, null);
  db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', 't')`);
  expect((await examined(dataDir)).get('mirror')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining('mirrors project 8 of') as string,
  });
});

test('a person whom the service lists again after the certificate is a warning until reconcile has opened the request', async () => {
  const { db, dataDir } = openTestMirror();
  plantRequest(db, { id: requestId(1), receivedAt: '2026-01-01T00:00:00.000Z' });
  expect((await examined(dataDir)).get('erasures')?.state).toBe('ok');
  db.exec(`UPDATE erasure_requests SET listed_again_pass = 1`);
  expect((await examined(dataDir)).get('erasures')).toMatchObject({
    state: 'warning',
    detail: 'the service lists 1 erased person again, which speaks against their certificates',
    fix: 'run `analytics-mirror reconcile`: it opens their requests again',
  });
});

test('a write-ahead log that a reader holds is a warning', async () => {
  const { dataDir } = openTestMirror();
  expect((await examined(dataDir)).get('log')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^mirror\.db-wal has [\d.]+ [kM]?B$/),
  });
  // A hole at its end: the disk does not fill.
  truncateSync(`${databasePath(dataDir)}-wal`, 400_000_000);
  expect((await examined(dataDir)).get('log')).toMatchObject({
    state: 'warning',
    detail: 'mirror.db-wal has grown to 400 MB, because a reader keeps it from being written back',
  });
});

test('a signing key of the settings that does not sign yet is a warning', async () => {
  const [signer, next] = [1, 2].map((byte) => seedSigner(Buffer.alloc(32, byte))) as [OutsideSigner, OutsideSigner];
  const signedBy = (...outside: OutsideSigner[]): string => {
    const dataDir = freshFolder();
    const ledger = openLedger(dataDir, tickingClock(), outside);
    for (const record of lifeOf(1, 1)) ledger.append(record);
    ledger.checkpoint();
    return dataDir;
  };
  const found = async (dataDir: string, ...signers: OutsideSigner[]) =>
    (await examined(dataDir, { signers })).get('ledger');
  expect((await found(signedBy()))?.state).toBe('ok');
  expect(await found(signedBy(), signer)).toMatchObject({
    state: 'warning',
    fix: expect.stringContaining('audit rotate-key') as unknown,
  });
  expect((await found(signedBy(signer), signer, next))?.state).toBe('ok');
});

test('a mirror that is not there yet is no failure', async () => {
  const findings = await examined(join(freshFolder(), 'data'));
  expect(findings.get('mirror')?.state).toBe('skipped');
  expect(Object.values(statesOf(findings))).not.toContain('failed');
});

test.each([
  ['of an erasure', Infinity, /, and the ledger has [1-9]\d* entries$/],
  ['of a request that was received', 1, /, and the ledger has 1 entry$/],
] as const)('a mirror that is lost after entries %s is a failure', async (_of, steps, told) => {
  const dataDir = freshFolder();
  const ledger = openLedger(dataDir, tickingClock());
  for (const record of lifeOf(1, 1).slice(0, steps)) ledger.append(record);
  ledger.checkpoint();
  expect((await examined(dataDir)).get('mirror')).toMatchObject({
    state: 'failed',
    detail: expect.stringMatching(told) as unknown,
    fix: expect.stringContaining('run `analytics-mirror reconcile`') as unknown,
  });
});

test('a damaged mirror and a lost file are found in one examination', async () => {
  const { db, dataDir } = openTestMirror();
  const { snapshotId } = await exportCount(dataDir, 10);
  db.close();
  truncateSync(databasePath(dataDir), 50_000);
  rmSync(join(snapshotFolder(dataDir, 'distinct_ids', snapshotId), 'part-00000.parquet'), { force: true });
  rmSync(join(snapshotFolder(dataDir, 'distinct_ids', snapshotId), 'part-00001.parquet'), { force: true });
  const findings = await examined(dataDir);
  expect(statesOf(findings)).toMatchObject({ mirror: 'failed', snapshots: 'failed', configuration: 'ok' });
  expect(findings.get('mirror')?.fix).toMatch(/restore it from a backup/);
  expect(findings.get('snapshots')).toMatchObject({
    detail: expect.stringContaining('distinct_ids') as unknown,
    fix: expect.stringContaining('export') as unknown,
  });
});

test.for([
  [{ 'export.promote': [{ property: 'plan', as: 'Name' }] }, 'export.promote has the column "Name", which there is'],
  [
    { 'export.mask': [{ property: 'age', how: 'hash' }], 'export.promote': [{ property: 'age', type: 'int64' }] },
    'hash',
  ],
  [{ 'export.load.into': 'mysql://warehouse' }, 'the address of the warehouse'],
  [{ 'export.load.into': 'warehouse.duckdb', 'export.load.schema': 'My-Mart' }, 'the name of the schema'],
] as const)('settings with which each export or load would end are told before: %j', async ([own, detail]) => {
  const { dataDir } = openTestMirror();
  expect((await examined(dataDir, { own })).get('configuration')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining(detail) as unknown,
  });
  expect(existsSync(join(dataDir, 'keys/mask.key'))).toBe(false);
});

test('when the service refuses the key, nothing more is asked of it', async () => {
  const refusal = new AppError('the service refuses the API key', { code: 'refused', hint: 'check the key' });
  const { service, calls } = serviceThat(() => Promise.reject(refusal));
  const findings = await examined(freshFolder(), { openService: () => service });
  expect(findings.get('service: persons')).toEqual({
    check: 'service: persons',
    state: 'failed',
    detail: 'the service refuses the API key',
    fix: 'check the key',
  });
  expect(calls).toHaveLength(1);
});

test('a scope that is missing for one list is found beside those that are there', async () => {
  const { service } = serviceThat((name) =>
    name === 'recordings.list' ? Promise.reject(new AppError('no scope', { code: 'refused' })) : well(name),
  );
  expect(statesOf(await examined(freshFolder(), { openService: () => service }))).toMatchObject({
    'service: persons': 'ok',
    'service: recordings': 'failed',
    'service: playlist abc': 'ok',
  });
});

const projectsFinding = async (answers: (name: string) => Promise<Reply>) =>
  (await examined(freshFolder(), { openService: () => serviceThat(answers).service })).get('service: projects');
const listing = (body: unknown) => (name: string) => answer(name === 'projects.list' ? body : {});
const refusing = (status: number) => (name: string) =>
  name === 'projects.list' ? Promise.reject(new AppError('no', { code: 'refused', status })) : well(name);
const many = Array.from({ length: 12 }, (_, index) => ({ id: `${index + 1}`, name: '' }));

test.each<[string, unknown, string]>([
  ['one project', { count: 1, results: [shop] }, 'the key sees 1 project: 7 (Shop)'],
  ['a bare array', [{ id: '7' }, { id: 8, name: null }], 'the key sees 2 projects: 7, 8'],
  ['no project', { results: [] }, 'the key sees no project; the configured project 7 is not among them'],
  [
    'another project',
    { results: [{ id: 8, name: 'Blog\u001b[31m\nsecond line' }, 'no project', { name: 'without an id' }] },
    'the key sees 1 project: 8 (Blog [31m second line); the configured project 7 is not among them',
  ],
  ['many projects', many, 'the key sees 12 projects: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 2 more'],
  [
    'a first page of projects',
    { results: [{ id: 1, name: 'x'.repeat(200) }], next: 'https://elsewhere.example/?offset=1' },
    `the key sees at least 1 project: 1 (${'x'.repeat(79)}…); the configured project 7 is not among those listed first`,
  ],
])('the projects that the key sees: %s', async (_what, body, detail) => {
  expect(await projectsFinding(listing(body))).toEqual({ check: 'service: projects', state: 'ok', detail });
});

test.each<[string, (name: string) => Promise<Reply>, string]>([
  ['404', refusing(404), 'the service does not list projects to this key (it answered 404)'],
  ['403', refusing(403), 'the service does not list projects to this key (it answered 403)'],
  ['no list', listing({ detail: 'hello' }), 'the service answers, but not with a list of projects'],
  ['nothing', listing(undefined), 'the service answers, but not with a list of projects'],
])('a service that lists no projects is no failure: %s', async (_what, answers, detail) => {
  expect(await projectsFinding(answers)).toEqual({ check: 'service: projects', state: 'skipped', detail });
});

test.each([403, 404])('when the configured project answers %d, the projects that there are say why', async (status) => {
  const unknown = (body: unknown) => (name: string) =>
    name === 'projects.list' ? answer(body) : Promise.reject(new AppError('unknown', { code: 'refused', status }));
  expect(await projectsFinding(unknown([{ id: 8, name: 'Blog' }]))).toMatchObject({
    state: 'failed',
    detail: 'the key sees 1 project: 8 (Blog); the configured project 7 is not among them',
    fix: 'set service.projectId (MIRROR_PROJECT_ID) to the id of one of them',
  });
  expect(await projectsFinding(unknown([]))).toMatchObject({
    state: 'failed',
    fix: 'give the key access to the project',
  });
  expect(await projectsFinding(unknown([shop]))).toMatchObject({ state: 'ok' });
});

test('a service that is not configured is a finding', async () => {
  const openService = () => {
    throw new AppError('not configured', { code: 'usage', hint: 'set it' });
  };
  expect((await examined(freshFolder(), { openService })).get('service: persons')).toMatchObject({
    state: 'failed',
    detail: 'not configured',
  });
});

test('what the budget leaves nothing for is skipped, and not waited for', async () => {
  const { service, calls } = serviceThat(well);
  const openService = () => service;
  const usedUp = (lane: string) => Promise.resolve(lane === 'recordings list' ? Date.UTC(2026, 0, 1, 1) : null);
  const narrow = await examined(freshFolder(), { openService, usedUpUntilMs: usedUp });
  expect(narrow.get('service: recordings')).toEqual({
    check: 'service: recordings',
    state: 'skipped',
    detail: 'not asked: the budget is used up until 2026-01-01 01:00:00 UTC',
  });
  expect(calls.map(([name]) => name)).toEqual([
    'persons.list',
    'projects.list',
    'persons.update',
    'playlists.retrieve',
    'playlists.recordings',
    'playlists.update',
  ]);
  const wide = await examined(freshFolder(), { openService, usedUpUntilMs: () => Promise.resolve(0) });
  expect(statesOf(wide)).toMatchObject({
    'service: persons': 'skipped',
    'service: projects': 'skipped',
    'service: recordings': 'skipped',
    'service: playlist abc': 'skipped',
  });
  expect(calls).toHaveLength(6);
});

test.each([
  ['shown in part', () => answer({ results: [{ id: 'a' }], has_next: true }), 'the service has more than it shows'],
  [
    'refused',
    () => Promise.reject(new AppError('no', { code: 'refused', status: 403 })),
    'the service refuses it to this key',
  ],
  ['not told', () => answer(undefined), 'the service answers without a list'],
] as const)('a playlist whose recordings are %s is a warning', async (_how, told, why) => {
  const { service } = serviceThat((name) => (name === 'playlists.recordings' ? told() : well(name)));
  const finding = (await examined(freshFolder(), { openService: () => service })).get('service: playlist abc');
  expect(finding).toMatchObject({ state: 'warning' });
  expect(finding?.detail).toContain(why);
});

test('an interruption ends the examination', async () => {
  const reason = new AppError('interrupted', { code: 'interrupted' });
  const { service } = serviceThat(() => Promise.reject(reason));
  await expect(examined(freshFolder(), { openService: () => service })).rejects.toBe(reason);
});

const lost = 'this key cannot delete persons: erasures will be refused';
const may = 'the key may change persons (person:write)';
const unclear = 'unclear whether the key may change persons (person:write): the service answers an empty change with';
const page = ' and other words than its own: a proxy may stand before the service';
const json = (status: number) => ({ status, isForeign: false });
const html = (status: number) => ({ status, isForeign: true });

test.each([
  ['no such person', json(404), null, 'ok', may],
  ['a missing scope', json(403), null, 'warning', `${lost} (asked)`],
  ['a fault', json(503), null, 'failed', 'asked'],
  ['the form refused, an empty list taken as wrong', json(400), json(400), 'ok', may],
  ['a firewall lets no change pass', html(403), null, 'warning', 'asked'],
  ['the form refused, an empty list denied', json(400), json(403), 'warning', `${lost} (asked)`],
  ['the form refused, no bulk deletion', json(400), json(404), 'warning', `${unclear} 400`],
  ['a page says that nothing is there', html(404), html(404), 'warning', `${unclear} 404${page}`],
  ['pages refuse everything', html(404), html(400), 'warning', `${unclear} 404${page}`],
  ['a page says that nothing is there, an empty list is taken as wrong', html(404), json(400), 'ok', may],
] as const)('an empty change of no person: %s', async (_what, toChange, toDelete, state, detail) => {
  const refuse = ({ status, isForeign }: ReturnType<typeof json>, hint?: string): Promise<Reply> => {
    const code = status === 403 && !isForeign ? 'refused' : status < 500 && status !== 403 ? 'rejected' : 'service';
    return Promise.reject(new AppError('asked', { code, status, isForeign, ...(hint === undefined ? {} : { hint }) }));
  };
  const { service, calls } = serviceThat((name) => {
    if (name === 'persons.update') return refuse(toChange, 'give the key the scope person:write');
    return name === 'persons.bulk_delete' && toDelete ? refuse(toDelete) : well(name);
  });
  const finding = (await examined(freshFolder(), { openService: () => service })).get('service: deleting persons');
  expect(finding).toMatchObject({ state, detail });
  if (toChange.status === 403) expect(finding?.fix).toBe('give the key the scope person:write');
  expect(calls.filter(([name]) => name === 'persons.update' || name === 'persons.bulk_delete')).toMatchObject([
    ['persons.update', { params: { id: 0 }, body: { properties: {} } }],
    ...(toDelete ? [['persons.bulk_delete', { body: { ids: [] } }]] : []),
  ]);
});

test('a key that may not delete is at fault once an erasure is open', async () => {
  const { dataDir, db } = openTestMirror();
  const refusal = new AppError('asked', { code: 'refused', status: 403, hint: 'give the key the scope' });
  const { service } = serviceThat((name) => (name === 'persons.update' ? Promise.reject(refusal) : well(name)));
  const finding = async () =>
    (await examined(dataDir, { openService: () => service })).get('service: deleting persons');
  expect(await finding()).toMatchObject({ state: 'warning', detail: `${lost} (asked)`, fix: 'give the key the scope' });
  plantRequest(db, { id: requestId(1), receivedAt: '2026-01-01T00:00:00.000Z' });
  expect(await finding()).toMatchObject({ state: 'failed', detail: `${lost} (asked)`, fix: 'give the key the scope' });
});

test.each(['documented', 'live'] as const)(
  'a %s service tells the key that can delete from the one that can only read, and nothing changes',
  async (profile) => {
    const world = await openSyncWorld({ persons: 5, seed: 1, profile });
    onTestFinished(() => world.close());
    const { sandbox } = world;
    sandbox.store.apiKeys.issue('key_to_delete_only', 1, ['person:write', 'session_recording:read']);
    const before = JSON.stringify([...sandbox.living()]);
    const of = async (apiKey: string): Promise<Record<string, string>> => {
      const environment = {
        MIRROR_BASE_URL: sandbox.url,
        MIRROR_PROJECT_ID: sandbox.projectId,
        MIRROR_API_KEY: apiKey,
      };
      const app = createApp({ environment: { ...environment, MIRROR_LOG_LEVEL: 'silent' }, isTerminal: false }, {});
      onTestFinished(() => app[Symbol.asyncDispose]());
      return statesOf(await examined(freshFolder(), { openService: app.service }));
    };
    expect(await of(sandbox.readOnlyKey)).toMatchObject({
      'service: persons': 'ok',
      'service: deleting persons': 'warning',
      'service: changing playlists': 'warning',
    });
    expect(await of('key_to_delete_only')).toMatchObject({
      'service: deleting persons': 'ok',
      'service: changing playlists': 'warning',
    });
    expect(await of(sandbox.apiKey)).toMatchObject({
      'service: deleting persons': 'ok',
      'service: changing playlists': 'ok',
    });
    expect(JSON.stringify([...sandbox.living()])).toBe(before);
  },
);

test('the budget is told with its origin, and a pause that the service asked for is a warning', async () => {
  const found = async (standing: BudgetStanding) => (await examined(freshFolder(), { standing })).get('budget');
  expect(await found({ pausedUntil: null, learnt: null })).toMatchObject({
    state: 'ok',
    detail: '240 requests in 60 s, 1,200 requests in 3,600 s, as configured',
  });
  const learnt = {
    requests: 1875,
    perSeconds: 3600,
    configured: 1200,
    upTo: 14_400,
    since: '2026-01-01T00:10:00.000Z',
    keptUntil: '2026-01-02T00:10:00.000Z',
  };
  const allowed =
    '1,875 requests an hour are allowed (learnt 2026-01-01 00:10:00 UTC; budget.windows has 1,200, budget.learnUpTo 14,400); since a 429 came it is not raised before 2026-01-02 00:10:00 UTC';
  expect(await found({ pausedUntil: null, learnt })).toMatchObject({ state: 'ok', detail: allowed });
  expect(await found({ pausedUntil: '2026-01-01T00:36:42.000Z', learnt })).toMatchObject({
    state: 'warning',
    detail: `the service asked for a pause (429): no request is sent before 2026-01-01 00:36:42 UTC; ${allowed}`,
  });
});

test('a deprecated address is a warning with its dates and the address that comes next', async () => {
  const deprecation = { since: '2026-07-01T00:00:00.000Z', sunsetAt: null };
  const findings = await examined(freshFolder(), { deprecation });
  expect(findings.get('service: address')).toEqual({
    check: 'service: address',
    state: 'warning',
    detail: 'the service has declared /api/environments deprecated since 2026-07-01 00:00:00 UTC',
    fix: 'set service.pathPrefix: /api/projects',
  });
});

test('recordings without a first day are a warning until a pass has shown old ones', async () => {
  const { db, dataDir } = openTestMirror();
  const found = async () => (await examined(dataDir, { query: {} })).get('recordings');
  const warning = { state: 'warning', fix: 'in the configuration, set `recordings.query: {date_from: -30d}`' };
  expect(await found()).toMatchObject(warning);
  const at = '2026-01-01T00:00:00.000Z';
  const passId = startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at });
  markDefaultWindow(db, passId);
  finishPass(db, passId, null, at);
  expect(await found()).toMatchObject(warning);
  finishPass(db, startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at }), null, at);
  expect(await found()).toMatchObject({ state: 'ok' });
});

test('rows of one moment that no page shows together are a warning of the last full pass', async () => {
  const { db, dataDir } = openTestMirror();
  const found = async () => (await examined(dataDir)).get('passes');
  expect(await found()).toMatchObject({ state: 'ok', detail: 'no full pass has ended yet; `sync` makes one' });
  const at = '2026-01-01T00:00:00.000Z';
  const plan = JSON.stringify({ pageSize: 100 });
  const end = (momentRows: number, reason: 'moment_too_large' | null): void => {
    const passId = startPass(db, { dataset: 'persons', mode: 'full', plan, at });
    const evidence = { ...noEvidence, momentRows, rowsDistinct: 9500 };
    preparePageCommit(db, 'persons', passId)({ rows: [], quarantined: [], at }, evidence);
    finishPass(db, passId, reason, at);
  };
  end(0, null);
  expect(await found()).toMatchObject({
    state: 'ok',
    detail: 'the last full passes showed persons whole, and the rows of each moment on one page',
  });
  end(8100, null);
  const moment = '8,100 persons are of one moment, more than one page shows';
  expect(await found()).toMatchObject({
    state: 'warning',
    detail: `${moment}: it is trusted that the service keeps the order of these`,
    fix: 'set persons.pageSize: 700',
  });
  end(8100, 'moment_too_large');
  expect(await found()).toMatchObject({
    state: 'warning',
    detail: `${moment}: nothing proves that the pass has seen all of these`,
  });
});

test('a ledger that no run has signed is told apart from one that is damaged', async () => {
  const { dataDir } = openTestMirror();
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(lifeOf(1, 1).slice(0, 2).flat());
  expect((await examined(dataDir)).get('ledger')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining('no good checkpoint covers any entry'),
    fix: expect.stringContaining('`analytics-mirror audit checkpoint` signs the ledger'),
  });
  ledger.checkpoint();
  expect((await examined(dataDir)).get('ledger')).toMatchObject({ state: 'ok' });
  const key = join(dataDir, 'keys/ledger.key');
  const older = readFileSync(key);
  ledger.rotateKey();
  ledger.checkpoint();
  writeFileSync(key, older);
  const detail = expect.stringContaining('keys/ledger.key is not the key of this ledger') as string;
  expect((await examined(dataDir)).get('ledger')).toMatchObject({ state: 'failed', detail });
  const { problems } = await verifyDataFolder(dataDir, {}, new AbortController().signal);
  expect(problems).toEqual([detail]);
  truncateSync(join(dataDir, 'ledger/entries.jsonl'), 40);
  expect((await examined(dataDir)).get('ledger')).toMatchObject({
    state: 'failed',
    fix: expect.stringContaining('restore ledger/ from a backup'),
  });
});
