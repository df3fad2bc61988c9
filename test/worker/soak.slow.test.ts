import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';

const lives = 10;
const lifeMs = 60_000;

/** Everything every few seconds, beside a service that changes and fails all the while. */
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
    'deletions.maxShare': '1',
    'persons.pageSize': '100',
    'retry.delayBaseMs': '20',
    'retry.delayMaxMs': '200',
    'status.port': '0',
    'log.level': 'silent',
  }).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
];

function reading<T>(dataDir: string, read: (db: Database) => T): T {
  const db = openDatabaseReadOnly(dataDir);
  try {
    return read(db);
  } finally {
    db.close();
  }
}

test('the worker, killed every minute for ten minutes beside a service that changes and fails, has it all in the end', async () => {
  await using place = await openWorkspace({
    persons: 3000,
    recordings: 300,
    churn: 0.3,
    faults: 'mixed',
    faultHoldMs: 100,
  });
  const { sandbox, dataDir } = place;
  for (let life = 1; life <= lives; life += 1) {
    const { child } = place.start(['run', ...settings], { timeoutMs: 2 * lifeMs });
    onTestFinished(() => void child.kill('SIGKILL'));
    await sleep(lifeMs);
    expect(child.exitCode).toBeNull();
    // The worker, and whatever it has started: the shell has become the worker.
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  const done = reading(dataDir, (db) =>
    db.prepare<[], number>(`SELECT count(*) FROM runs WHERE outcome = 'done'`).pluck().get(),
  );
  expect(done).toBeGreaterThan(lives);
  const since = sandbox.version();
  const { code } = await place.run(['sync', 'persons', ...settings], { timeoutMs: lifeMs });
  expect(code).toBe(0);
  const living = new Set([...sandbox.living()].map(({ uuid }) => uuid));
  const [mirrored, deleted] = reading(dataDir, (db) => [
    new Set(db.prepare<[], string>(`SELECT uuid FROM persons`).pluck().all()),
    db
      .prepare<[], string>(`SELECT key FROM deletions WHERE dataset = 'persons' AND reason = 'deleted'`)
      .pluck()
      .all(),
  ]);
  const fenced = new Set(deleted);
  const missing = [...sandbox.stableSince(since)].filter((uuid) => !mirrored.has(uuid) && !fenced.has(uuid));
  expect(missing).toEqual([]);
  // Nobody who lives was taken out, unless the service had deleted them and later events have brought them back.
  const gone = new Set([...sandbox.gone()].map(({ uuid }) => uuid));
  expect(deleted.filter((uuid) => living.has(uuid) && !gone.has(uuid))).toEqual([]);
  expect((await place.run(['audit', 'verify', '--json'], { timeoutMs: lifeMs })).code).toBe(0);
  expect((await place.run(['reconcile', ...settings], { timeoutMs: lifeMs })).code).toBeOneOf([0, 4]);
  expect((await place.run(['erase', 'scan', ...settings], { timeoutMs: 2 * lifeMs })).code).toBe(0);
}, 900_000);
