import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { assertDiscreet, discreetRun } from './discreet-run.ts';
import { assertErased, assertIntended, outcomeOf, type Outcome } from './erasure-invariants.ts';
import { prepareErasure, openErasureWorkspace, textsOf, type PreparedErasure } from './erasure-workspace.ts';
import type { Workspace } from './workspace.ts';
import { referenceErasure } from './killed-erasure.ts';
import { jsonOf } from './run-cli.ts';

let prepared: PreparedErasure;
let texts: string[];
/** What every erasure comes to in the end. */
let outcome: Outcome;
beforeAll(async () => {
  prepared = await prepareErasure();
  texts = textsOf(prepared.subjects);
  ({ outcome } = await referenceErasure(prepared));
}, 180_000);
afterAll(() => prepared[Symbol.asyncDispose]());

const oneSentence = /^error: [^\n]+\n {2}[^\n]+\n$/;

/** A workspace whose commands show nobody. */
async function openDiscreetWorkspace(): Promise<Workspace> {
  const workspace = await openErasureWorkspace(prepared);
  return { ...workspace, run: discreetRun(workspace.run, texts) };
}

/** The states of the requests, each once. */
async function statesIn({ run }: Workspace): Promise<string[]> {
  const listed = jsonOf(await run(['erase', 'list', '--all', '--json'])) as { requests: { state: string }[] };
  return [...new Set(listed.requests.map(({ state }) => state))].toSorted();
}

function deletionsIn({ sandbox }: Workspace): number {
  return sandbox.requests().filter(({ endpoint, status }) => endpoint === 'persons.delete' && status === 204).length;
}

/** Reconciles without trouble: then all are erased. */
async function assertAllErased(workspace: Workspace): Promise<void> {
  expect(await workspace.run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
  await assertErased(workspace, prepared.subjects);
  expect(deletionsIn(workspace)).toBe(prepared.subjects.length);
  assertDiscreet(workspace.dataDir, texts);
}

/** Reconciles without trouble: then all is as if there had been none. */
async function assertFinishes(workspace: Workspace): Promise<void> {
  await assertAllErased(workspace);
  expect(await outcomeOf(workspace.dataDir)).toEqual(outcome);
}

describe('a service', () => {
  it('that is down: who is known here is erased, the exit code says the rest, the next run finishes', async () => {
    await using workspace = await openDiscreetWorkspace();
    const ended = await workspace.run(['reconcile', '--set', 'retry.attemptsMax=1'], {
      env: { MIRROR_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
    // A recording shows one with somebody whom no list has shown: a person of today, or a former uuid.
    expect(await statesIn(workspace)).toEqual(['held', 'locally_verified']);
    await assertAllErased(workspace);
  });

  it('whose key may only read: what is here is erased, and the scope that is lacking is named', async () => {
    await using workspace = await openDiscreetWorkspace();
    const ended = await workspace.run(['reconcile'], { env: { MIRROR_API_KEY: workspace.sandbox.readOnlyKey } });
    expect(ended).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(ended.stderr).toContain('person:write');
    expect(await statesIn(workspace)).toContain('locally_verified');
    expect(deletionsIn(workspace)).toBe(0);
    await assertFinishes(workspace);
  });
});

describe('a ledger that cannot be written', () => {
  const refusing = (from: number) => ({
    env: {
      NODE_OPTIONS: `--import ${new URL('../kill/broken-ledger-child.ts', import.meta.url).href}`,
      LEDGER_REFUSES_FROM: String(from),
    },
  });

  // Each runs whole reconciliations, as processes of their own.
  vi.setConfig({ testTimeout: 180_000 });

  // The first time is at the start, to see whether a kill has left half a line; then come the scan, and the fence.
  it.each([1, 2, 3])('from the %ith time on: nothing is destroyed', async (from) => {
    await using workspace = await openDiscreetWorkspace();
    const before = await outcomeOf(workspace.dataDir);
    const ended = await workspace.run(['reconcile'], refusing(from));
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
    expect(await outcomeOf(workspace.dataDir)).toEqual(before);
    expect(deletionsIn(workspace)).toBe(0);
    if (from === 3) await assertFinishes(workspace);
  });

  it('halfway: nothing is destroyed that was not intended, and the next run finishes', async () => {
    await using workspace = await openDiscreetWorkspace();
    for (const from of [4, 8, 30, 55]) {
      const ended = await workspace.run(['reconcile'], refusing(from));
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneSentence) });
      assertIntended(workspace, join(prepared.base, 'data'), prepared.subjects);
    }
    await assertFinishes(workspace);
  });
});

describe('a published file', () => {
  it.each([
    ['cut off', (path: string) => truncateSync(path, 100), 'has another size than its manifest'],
    [
      'of which one byte is wrong',
      (path: string) => {
        const bytes = readFileSync(path);
        // Behind the magic number stand the pages.
        bytes[20] = (bytes[20] ?? 0) ^ 1;
        writeFileSync(path, bytes);
      },
      'has other bytes than its manifest',
    ],
  ] as const)('%s goes with its snapshot, and all are erased; the next export publishes it again', async (...given) => {
    const [, damage, sentence] = given;
    await using workspace = await openDiscreetWorkspace();
    const part = listPublishedParts(publishedFilesIn(workspace.dataDir)).find(({ dataset }) => dataset === 'persons');
    if (!part) throw new Error('nothing is published');
    damage(part.path);
    const ended = await workspace.run(['reconcile']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(`mended: snapshots/${part.dataset}/${part.snapshotId}/${part.name} ${sentence}`);
    expect(existsSync(dirname(part.path))).toBe(false);
    await assertErased(workspace, prepared.subjects);
    expect(deletionsIn(workspace)).toBe(prepared.subjects.length);
    expect(await workspace.run(['export'])).toMatchObject({ code: 0 });
    await assertErased(workspace, prepared.subjects);
    expect(await workspace.run(['audit', 'verify'])).toMatchObject({ code: 0 });
    assertDiscreet(workspace.dataDir, texts);
  });
});

describe('a reconciliation under way', () => {
  /** Two requests, and then a wait that no test lives to see the end of. */
  const stuck = ['--set', 'budget.windows=[{requests: 2, perSeconds: 3600}]'];

  it('keeps a second one out, ends with 130 on SIGTERM, and is taken up again', async () => {
    await using workspace = await openDiscreetWorkspace();
    const first = workspace.start(['reconcile', ...stuck]);
    await untilRecorded(workspace, ({ type }) => type === 'locally_verified');
    const second = await workspace.run(['reconcile', '--json']);
    expect(second.code).toBe(5);
    expect(jsonOf(second)).toMatchObject({ error: { code: 'busy' } });
    first.child.kill('SIGTERM');
    expect(await first.ended).toEqual({
      code: 130,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: interrupted\n {2}run it again to go on where it stopped; before it failed, this run did: \d requests? fenced/,
      ),
    });
    assertIntended(workspace, join(prepared.base, 'data'), prepared.subjects);
    await assertFinishes(workspace);
  });

  it('may be ended while it purges and scans', async () => {
    await using workspace = await openDiscreetWorkspace();
    const { child, ended } = workspace.start(['reconcile']);
    await untilRecorded(workspace, (entry) => entry.type === 'intent' && entry.target === 'mirror');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 130, stdout: '' });
    expect(deletionsIn(workspace)).toBe(0);
    await assertFinishes(workspace);
  });
});

it('nobody is shown at level trace either', async () => {
  await using workspace = await openDiscreetWorkspace();
  const trace = ['--log-level', 'trace'];
  const ended = await workspace.run(['reconcile', ...trace, '--set', 'retry.attemptsMax=1'], {
    env: { MIRROR_BASE_URL: 'http://127.0.0.1:9' },
  });
  expect(ended.code).toBe(1);
  expect(ended.stderr.split('\n').length).toBeGreaterThan(5);
  for (const command of [['reconcile', '--dry-run'], ['reconcile'], ['erase', 'list', '--all'], ['erase', 'scan']])
    expect(await workspace.run([...command, ...trace])).toMatchObject({ code: 0 });
  assertDiscreet(workspace.dataDir, texts);
});

/** Waits until a record of a kind stands on the ledger. */
function untilRecorded({ dataDir }: Workspace, isIt: (entry: LedgerEntry) => boolean): Promise<void> {
  return vi.waitFor(() => expect([...readLedger(dataDir).entries()].some(isIt)).toBe(true), {
    timeout: 45_000,
    interval: 5,
  });
}
