import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { join } from 'node:path';
import { assertErased, assertIntended, outcomeOf } from './erasure-invariants.ts';
import { prepareErasure, openErasureWorkspace, type PreparedErasure } from './erasure-workspace.ts';
import { referenceErasure, type ReferenceErasure } from './killed-erasure.ts';
import { killRun, killStarted } from '../kill/killed-run.ts';
import { killPoint } from '../kill/kill-point.ts';
import { jsonOf } from './run-cli.ts';

// Each runs whole reconciliations, as processes of their own.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

// `killed-erasure.crash.slow.test.ts` kills at every point.
let prepared: PreparedErasure;
let reference: ReferenceErasure;
beforeAll(async () => {
  prepared = await prepareErasure();
  reference = await referenceErasure(prepared);
});
afterAll(() => prepared[Symbol.asyncDispose]());

it('a deletion whose answer was lost is not sent again, and somebody is asked about the events', async () => {
  await using workspace = await openErasureWorkspace(prepared);
  const { executions, outcome } = reference;
  await killRun(workspace.run, ['reconcile'], killPoint(executions, 'before', /^be answered DELETE .*persons/));
  assertIntended(workspace, join(prepared.base, 'data'), prepared.subjects);
  expect(await workspace.run(['reconcile'])).toMatchObject({ code: 4, stderr: '' });
  const { requests } = jsonOf(await workspace.run(['erase', 'list', '--json'])) as {
    requests: { id: string; state: string; reason: string }[];
  };
  expect(requests).toMatchObject([{ state: 'attention', reason: 'events_unconfirmed' }]);
  expect(await workspace.run(['erase', 'approve', requests[0]?.id ?? ''])).toMatchObject({ code: 0, stderr: '' });
  expect(await workspace.run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
  await assertErased(workspace, prepared.subjects);
  expect(await outcomeOf(workspace.dataDir)).toEqual(outcome);
  const deletions = workspace.sandbox.requests().filter(({ endpoint }) => endpoint === 'persons.delete');
  expect(deletions).toHaveLength(prepared.subjects.length);
});

it('a killed scan stops the reconciliation with one sentence, and nothing counts as proved', async () => {
  await using workspace = await openErasureWorkspace(prepared);
  const sentence = /^error: the scanner was ended before it had a result\n {2}[^\n]+\n$/;
  const states = async (): Promise<string[]> => {
    const { requests } = jsonOf(await workspace.run(['erase', 'list', '--json'])) as { requests: { state: string }[] };
    return [...new Set(requests.map(({ state }) => state))];
  };
  // Before the fence, and after the purge.
  for (const [nth, state] of [
    [1, 'scoped'],
    [2, 'executing'],
  ] as const) {
    const ended = await killStarted(workspace.run, ['reconcile'], 'scan-process.ts', nth);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) });
    expect(await states()).toEqual([state]);
  }
  expect(await workspace.run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
  await assertErased(workspace, prepared.subjects);
  expect(await outcomeOf(workspace.dataDir)).toEqual(reference.outcome);
});
