import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { newestPasses } from '../../src/mirror/passes.ts';
import { startRun } from '../../src/mirror/runs.ts';
import { jsonOf } from './run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 3000, recordings: 400 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** Small pages, so that there is much to be interrupted. */
const smallPages = ['--set', 'persons.pageSize=30', '--set', 'recordings.pageSize=30', '--log-level', 'warn'];
/** Two requests, and then a wait that no test lives to see the end of. */
const stuck = ['--set', 'budget.windows=[{requests: 2, perSeconds: 3600}]'];

type Status = {
  rows: Record<string, number>;
  passes: { id: number; dataset: string; verdict: string; rowsReceived: number }[];
  runs: { outcome: string; reason: string | null }[];
  lease: object | null;
};

async function statusOf(dataDir: string): Promise<Status> {
  const ended = await workspace.run(['status', '--json', '--data-dir', dataDir]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return jsonOf(ended) as Status;
}

/** Waits until so many rows of the pass over persons that is under way are in the mirror. */
async function untilReceived(dataDir: string, rows: number): Promise<void> {
  const received = (): number => {
    using db = openDatabaseReadOnly(dataDir);
    return newestPasses(db)[0]?.rowsReceived ?? 0;
  };
  await vi.waitFor(() => expect(received()).toBeGreaterThanOrEqual(rows), { timeout: 30_000, interval: 10 });
}

describe('a sync under way', () => {
  it('keeps a second one out, ends with 130 on SIGINT, and is taken up again', async () => {
    const dataDir = join(workspace.folder, 'interrupted');
    const args = ['sync', 'persons', '--data-dir', dataDir, ...smallPages];
    const first = workspace.start([...args, ...stuck]);
    await untilReceived(dataDir, 30);

    const second = await workspace.run([...args, '--json', ...stuck]);
    expect(second.code).toBe(5);
    const message = `another run holds the data folder: sync, process ${first.child.pid} on `;
    expect(jsonOf(second)).toMatchObject({
      error: { code: 'busy', message: expect.stringContaining(message), hint: expect.any(String) },
    });
    expect((await statusOf(dataDir)).lease).toMatchObject({ job: 'sync', pid: first.child.pid });

    const askedAt = performance.now();
    first.child.kill('SIGINT');
    expect(await first.ended).toEqual({
      code: 130,
      stdout: '',
      stderr: 'error: interrupted\n  run it again to go on where it stopped\n',
    });
    expect(performance.now() - askedAt).toBeLessThan(5000);
    const between = await statusOf(dataDir);
    expect(between).toMatchObject({
      lease: null,
      passes: [{ id: 1, verdict: 'unfinished' }],
      runs: [{ outcome: 'interrupted' }],
    });

    const resumed = await workspace.run([...args, '--json', ...unlimited]);
    expect(resumed.code).toBe(0);
    expect(jsonOf(resumed)).toMatchObject({ passes: [{ id: 1, verdict: 'complete' }] });
    expect((await statusOf(dataDir)).rows).toMatchObject({ persons: 3000, quarantine: 0 });
  });

  it('ends with 130 on SIGTERM too, and at once on a second signal', async () => {
    const dataDir = join(workspace.folder, 'terminated');
    const { child, ended } = workspace.start(['sync', 'persons', '--data-dir', dataDir, ...smallPages, ...stuck]);
    await untilReceived(dataDir, 30);
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(130);
  });

  it('ends with 130 on SIGHUP, with its run recorded, when its terminal is gone', async () => {
    const dataDir = join(workspace.folder, 'hung-up');
    const { child, ended } = workspace.start(['sync', 'persons', '--data-dir', dataDir, ...smallPages, ...stuck]);
    await untilReceived(dataDir, 30);
    child.kill('SIGHUP');
    expect((await ended).code).toBe(130);
    expect(await statusOf(dataDir)).toMatchObject({
      lease: null,
      runs: [{ outcome: 'interrupted', reason: 'interrupted' }],
    });
  });

  it('may begin at the same moment as another in a fresh folder', async () => {
    const dataDir = join(workspace.folder, 'raced');
    const args = ['sync', 'recordings', '--data-dir', dataDir, '--log-level', 'warn'];
    const endings = await Promise.all([workspace.run(args), workspace.run(args), workspace.run(args)]);
    for (const { code, stderr } of endings)
      expect(stderr).toMatch(code === 0 ? /^$/ : /^error: another run holds the data folder: /);
    expect(endings.map(({ code }) => code)).toContain(0);
    expect((await statusOf(dataDir)).rows).toMatchObject({ recordings: 400 });
  });
});

it('a request is received in the middle of a pass, and the pass goes on', async () => {
  const dataDir = join(workspace.folder, 'asked');
  const args = [...smallPages.slice(0, -1), 'info', '--data-dir', dataDir];
  const paced = ['--set', 'budget.windows=[{requests: 15, perSeconds: 1}]'];
  const pass = workspace.start(['sync', 'persons', ...args, ...paced]);
  await untilReceived(dataDir, 60);
  const row = await workspace.run(['query', 'SELECT uuid FROM persons LIMIT 1', '--json', '--data-dir', dataDir]);
  const [[uuid]] = (jsonOf(row) as { rows: [[string]] }).rows;
  const add = ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'dpo', '--json', ...args, ...paced];
  const [added, second] = await Promise.all([workspace.run(add), workspace.run(['sync', 'persons', ...args])]);
  expect(jsonOf(added)).toMatchObject({ requests: [{ state: 'scoped', persons: 1 }] });
  expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('"msg":"waiting for another run"') });
  expect(second.code).toBe(5);
  expect(pass.child.exitCode).toBeNull();
  expect(await pass.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('"msg":"run goes on"') });
  const { runs } = await statusOf(dataDir);
  expect(runs.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
});

describe('a query that never ends', () => {
  const endless = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, runs';

  /** Waits until somebody goes on reading the mirror, which then cannot take in what is written meanwhile. */
  async function untilRead(dataDir: string): Promise<void> {
    using db = openDatabase(dataDir, systemClock);
    const Checkpoint = z.tuple([z.object({ log: z.int(), checkpointed: z.int() })]);
    for (let reads = 0; reads < 5; await delay(20)) {
      db.exec(`UPDATE purge_owed SET marked = marked + 1`);
      const [{ log, checkpointed }] = Checkpoint.parse(db.pragma('wal_checkpoint(PASSIVE)'));
      reads = checkpointed < log ? reads + 1 : 0;
    }
  }

  it.each(['SIGINT', 'SIGTERM'] as const)('is ended by %s at once', async (signal) => {
    const dataDir = join(workspace.folder, signal);
    const db = openDatabase(dataDir, systemClock);
    startRun(db, 'sync', '2026-01-01T00:00:00.000Z');
    db.close();
    const { child, ended } = workspace.start(['query', endless, '--data-dir', dataDir]);
    await untilRead(dataDir);
    child.kill(signal);
    expect(await ended).toMatchObject({
      code: 130,
      stdout: '',
      stderr: expect.stringMatching(/^error: interrupted\n/) as string,
    });
  });
});
