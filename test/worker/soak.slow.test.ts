import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { contentOf } from '../cli/mirror-content.ts';
import { jsonOf, runCli, startCli, type Surroundings } from '../cli/run-cli.ts';
import { unlimited } from '../cli/workspace.ts';

const lives = 10;
const lifeMs = 60_000;

/** Everything every few seconds. */
const settings = [
  ...unlimited,
  ...Object.entries({
    'schedule.head': '"*/5 * * * * *"',
    'schedule.full': '"*/15 * * * * *"',
    'schedule.recordings': '"*/20 * * * * *"',
    'schedule.export': '"*/30 * * * * *"',
    'schedule.reconcile': '"*/10 * * * * *"',
    'schedule.playlists': 'null',
    'schedule.drill': 'null',
    'deletions.confirmAfterSeconds': '0',
    'deletions.collectHours': '0',
    'deletions.maxShare': '1',
    'persons.pageSize': '100',
    'retry.delayBaseMs': '20',
    'retry.delayMaxMs': '200',
    'status.port': '0',
    'log.level': 'silent',
  }).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
];

const AddedRequests = z.object({
  requests: z.tuple([z.object({ id: z.string(), state: z.enum(['received', 'scoped', 'held', 'refused']) })]),
});

test('the worker, killed every minute for ten minutes beside a service that changes and fails: in the end its mirror is what a new one would be', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-soak-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const served = { persons: 3000, recordings: 1000, seed: 11, hostile: true, dir: join(folder, 'service') };
  const serve = async (more: Partial<SandboxOptions>): Promise<Sandbox> => {
    const sandbox = await startSandbox({ ...served, port: 0, ...more });
    onTestFinished(() => sandbox.close());
    return sandbox;
  };
  const dataDir = join(folder, 'data');
  const around = ({ url, projectId, apiKey }: Sandbox, dir: string): Surroundings => ({
    env: { MIRROR_BASE_URL: url, MIRROR_PROJECT_ID: projectId, MIRROR_API_KEY: apiKey, MIRROR_DATA_DIR: dir },
    timeoutMs: 4 * lifeMs,
  });
  const wild = await serve({ churn: 0.02, faults: 'mixed', faultHoldMs: 100 });
  const erased: string[] = [];
  for (let life = 1; life <= lives; life += 1) {
    const { child } = startCli(['run', ...settings], around(wild, dataDir));
    onTestFinished(() => void child.kill('SIGKILL'));
    await sleep(lifeMs);
    expect(child.exitCode).toBeNull();
    child.kill('SIGKILL');
    await once(child, 'close');
    const [person] = [...wild.living()].slice(life);
    if (!person) throw new Error('nobody is left');
    const add = ['erase', 'add', '--uuid', person.uuid, '--basis', 'objection', '--by', 'soak', '--json'];
    const { requests } = AddedRequests.parse(jsonOf(await runCli([...add, ...settings], around(wild, dataDir))));
    const [{ id, state }] = requests;
    // Who was split shares distinct ids with somebody who lives.
    if (state === 'held')
      expect(await runCli(['erase', 'approve', id, ...settings], around(wild, dataDir))).toMatchObject({ code: 0 });
    // The service may have deleted them meanwhile.
    if (state !== 'refused') erased.push(person.uuid);
  }
  expect(erased.length).toBeGreaterThan(lives / 2);
  await wild.close();

  // The same service, calm.
  const calm = await serve({});
  const run = (...args: string[]): Promise<{ code: number | null; stderr: string }> =>
    runCli([...args, ...settings], around(calm, dataDir));
  // The first asks the service to delete who is to be erased, the last for whom the pass did not see. 4: one calls for
  // attention, such as one whose DELETE was not answered.
  expect((await run('reconcile')).code).toBeOneOf([0, 4]);
  expect(await run('sync', '--fresh')).toMatchObject({ code: 0 });
  expect((await run('reconcile')).code).toBeOneOf([0, 4]);
  expect((await run('export')).code).toBe(0);
  const another = join(folder, 'another');
  expect((await runCli(['sync', ...settings], around(calm, another))).code).toBe(0);

  const living = [...calm.living()];
  const uuids = new Set(living.map(({ uuid }) => uuid));
  const left = erased.filter((uuid) => uuids.has(uuid));
  const requests = await runCli(['erase', 'list', '--all', ...settings], around(calm, dataDir));
  // The requests say why somebody is left.
  expect({ left, ...(left.length > 0 && { requests: requests.stdout }) }).toEqual({ left: [] });
  const mirrored = contentOf(dataDir);
  const anew = contentOf(another);
  expect(anew['persons']).toHaveLength(living.length);
  for (const table of ['persons', 'person_distinct_ids', 'quarantine'])
    expect([table, differences(mirrored[table], anew[table])]).toEqual([table, []]);
  // A service keeps the recordings of whom it deletes; the mirror does not. The mirror keeps those from before the oldest
  // that is listed; the service does not.
  const ofTheLiving = recordingsOf(another, living);
  expect(ofTheLiving.length).toBeGreaterThan(10);
  const oldest = ofTheLiving.map((recording) => recording.start_time).toSorted()[0] ?? '';
  const mirroredOnes = recordingsOf(dataDir, living).filter((recording) => recording.start_time >= oldest);
  expect(differences(mirroredOnes, ofTheLiving)).toEqual([]);
  expect((await run('audit', 'verify')).code).toBe(0);
  expect((await run('erase', 'scan')).code).toBe(0);
}, 1_500_000);

/** The first few rows that are in one list only. */
function differences(one: unknown[] = [], other: unknown[] = []): string[] {
  const a = new Set(one.map((row) => JSON.stringify(row)));
  const b = new Set(other.map((row) => JSON.stringify(row)));
  return [...[...a].filter((row) => !b.has(row)), ...[...b].filter((row) => !a.has(row))].slice(0, 4);
}

type Recording = { id: string; distinct_id: string; person_uuid: string; start_time: string };

/** The recordings of persons who live, by their ids. */
function recordingsOf(dataDir: string, living: readonly { uuid: string; distinct_ids: string[] }[]): Recording[] {
  const owners = new Map(living.flatMap(({ uuid, distinct_ids }) => distinct_ids.map((id) => [id, uuid])));
  const db = openDatabaseReadOnly(dataDir);
  try {
    return db
      .prepare<[], Recording>(
        `SELECT id, distinct_id, person_uuid, start_time, person, extra FROM recordings ORDER BY id`,
      )
      .all()
      .filter(({ distinct_id, person_uuid }) => owners.get(distinct_id) === person_uuid);
  } finally {
    db.close();
  }
}
