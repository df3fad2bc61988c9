import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { listPublishedParts } from '../../src/snapshot/list-published.ts';
import { assertDiscreet, discreetRun } from './discreet-run.ts';
import { assertErased, assertIntended, outcomeOf, type Outcome } from './erasure-invariants.ts';
import { openErasureScene, openStage, textsOf, type ErasureScene, type Stage } from './erasure-scene.ts';
import { rehearseErasure } from './erasure-story.ts';
import { publishedRows } from './published-rows.ts';
import { jsonOf } from './run-cli.ts';

let scene: ErasureScene;
let texts: string[];
/** What every erasure comes to in the end. */
let outcome: Outcome;
beforeAll(async () => {
  scene = await openErasureScene();
  texts = textsOf(scene.subjects);
  ({ outcome } = await rehearseErasure(scene));
}, 180_000);
afterAll(() => scene[Symbol.asyncDispose]());

const oneSentence = /^error: [^\n]+\n {2}[^\n]+\n$/;

/** A stage whose commands show nobody. */
async function openDiscreetStage(): Promise<Stage> {
  const stage = await openStage(scene);
  return { ...stage, run: discreetRun(stage.run, texts) };
}

/** The states of the requests, each once. */
async function statesIn({ run }: Stage): Promise<string[]> {
  const listed = jsonOf(await run(['erase', 'list', '--all', '--json'])) as { requests: { state: string }[] };
  return [...new Set(listed.requests.map(({ state }) => state))].toSorted();
}

function deletionsIn({ sandbox }: Stage): number {
  return sandbox.requests().filter(({ endpoint, status }) => endpoint === 'persons.delete' && status === 204)
    .length;
}

/** Reconciles without trouble: then all is as if there had been none. */
async function assertFinishes(stage: Stage): Promise<void> {
  expect(await stage.run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
  await assertErased(stage, scene.subjects);
  expect(await outcomeOf(stage.dataDir)).toEqual(outcome);
  expect(deletionsIn(stage)).toBe(scene.subjects.length);
  assertDiscreet(stage.dataDir, texts);
}

describe('a service', () => {
  it('that is down: what is here is erased, the exit code says the rest, the next run finishes', async () => {
    await using stage = await openDiscreetStage();
    const ended = await stage.run(['reconcile', '--set', 'retry.attemptsMax=1'], {
      env: { MIRROR_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(await statesIn(stage)).toEqual(['locally_verified']);
    await assertFinishes(stage);
  });

  it('whose key may only read: what is here is erased, and the scope that is lacking is named', async () => {
    await using stage = await openDiscreetStage();
    const ended = await stage.run(['reconcile'], { env: { MIRROR_API_KEY: stage.sandbox.readOnlyKey } });
    expect(ended).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(ended.stderr).toContain('person:write');
    expect(await statesIn(stage)).toContain('locally_verified');
    expect(deletionsIn(stage)).toBe(0);
    await assertFinishes(stage);
  });
});

describe('a ledger that cannot be written', () => {
  const refusing = (from: number) => ({
    env: {
      NODE_OPTIONS: `--import ${new URL('ledger-refuses-child.ts', import.meta.url).href}`,
      LEDGER_REFUSES_FROM: String(from),
    },
  });

  // Each runs whole reconciliations, as processes of their own.
  vi.setConfig({ testTimeout: 180_000 });

  // The first time is at the start, to see whether a kill has left half a line; then come the scan, and the fence.
  it.each([1, 2, 3])('from the %ith time on: nothing is destroyed', async (from) => {
    await using stage = await openDiscreetStage();
    const before = await outcomeOf(stage.dataDir);
    const ended = await stage.run(['reconcile'], refusing(from));
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(await outcomeOf(stage.dataDir)).toEqual(before);
    expect(deletionsIn(stage)).toBe(0);
    if (from === 3) await assertFinishes(stage);
  });

  it('halfway: nothing is destroyed that was not intended, and the next run finishes', async () => {
    await using stage = await openDiscreetStage();
    for (const from of [4, 8, 30, 55]) {
      const ended = await stage.run(['reconcile'], refusing(from));
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
      assertIntended(stage, join(scene.base, 'data'), scene.subjects);
    }
    await assertFinishes(stage);
  });
});

describe('a published file', () => {
  it.each([
    ['cut off', (path: string) => truncateSync(path, 100), ['scoped']],
    [
      'of which one byte is wrong',
      (path: string) => {
        const bytes = readFileSync(path);
        // Behind the magic number stand the pages.
        bytes[20] = (bytes[20] ?? 0) ^ 1;
        writeFileSync(path, bytes);
      },
      undefined,
    ],
  ] as const)('%s stops the run with one sentence, and loses nothing', async (_what, damage, states) => {
    await using stage = await openDiscreetStage();
    const part = listPublishedParts(stage.dataDir).find(({ dataset }) => dataset === 'persons');
    if (!part) throw new Error('nothing is published');
    const whole = readFileSync(part.path);
    const before = await publishedRows(stage.dataDir);
    damage(part.path);
    const ended = await stage.run(['reconcile']);
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(ended.stderr).toContain(`${part.dataset}/${part.snapshotId}/${part.file.name}`);
    if (states) expect(await statesIn(stage)).toEqual(states);
    expect(deletionsIn(stage)).toBe(0);
    // It still is where it was, to be restored.
    expect(existsSync(part.path)).toBe(true);
    writeFileSync(part.path, whole);
    if (states) expect(await publishedRows(stage.dataDir)).toEqual(before);
    await assertFinishes(stage);
  });
});

describe('a reconciliation under way', () => {
  /** Two requests, and then a wait that no test lives to see the end of. */
  const stuck = ['--set', 'budget.windows=[{requests: 2, perSeconds: 3600}]'];

  it('keeps a second one out, ends with 130 on SIGTERM, and is taken up again', async () => {
    await using stage = await openDiscreetStage();
    const first = stage.start(['reconcile', ...stuck]);
    await untilRecorded(stage, ({ type }) => type === 'locally_verified');
    const second = await stage.run(['reconcile', '--json']);
    expect(second.code).toBe(5);
    expect(jsonOf(second)).toMatchObject({ error: { code: 'busy' } });
    first.child.kill('SIGTERM');
    expect(await first.ended).toEqual({
      code: 130,
      stdout: '',
      stderr: 'error: interrupted\n  run it again to go on where it stopped\n',
    });
    assertIntended(stage, join(scene.base, 'data'), scene.subjects);
    await assertFinishes(stage);
  });

  it('may be ended while it purges and scans', async () => {
    await using stage = await openDiscreetStage();
    const { child, ended } = stage.start(['reconcile']);
    await untilRecorded(stage, (entry) => entry.type === 'intent' && entry.target === 'mirror');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 130, stdout: '' });
    expect(deletionsIn(stage)).toBe(0);
    await assertFinishes(stage);
  });
});

it('nobody is shown at level trace either', async () => {
  await using stage = await openDiscreetStage();
  const trace = ['--log-level', 'trace'];
  const ended = await stage.run(['reconcile', ...trace, '--set', 'retry.attemptsMax=1'], {
    env: { MIRROR_BASE_URL: 'http://127.0.0.1:9' },
  });
  expect(ended.code).toBe(1);
  expect(ended.stderr.split('\n').length).toBeGreaterThan(5);
  for (const command of [
    ['reconcile', '--dry-run'],
    ['reconcile'],
    ['erase', 'list', '--all'],
    ['erase', 'scan'],
  ])
    expect(await stage.run([...command, ...trace])).toMatchObject({ code: 0 });
  assertDiscreet(stage.dataDir, texts);
});

/** Waits until a record of a kind stands on the ledger. */
function untilRecorded({ dataDir }: Stage, isIt: (entry: LedgerEntry) => boolean): Promise<void> {
  return vi.waitFor(() => expect([...readLedger(dataDir).entries()].some(isIt)).toBe(true), {
    timeout: 45_000,
    interval: 5,
  });
}
