import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
let elsewhere: Sandbox;

beforeAll(async () => {
  workspace = await openWorkspace();
  elsewhere = await startSandbox({ persons: 120, recordings: 30, seed: 3, port: 0, hostile: true });
  await workspace.run(['sync', 'persons', ...unlimited]);
}, 30_000);

afterAll(async () => {
  await elsewhere.close();
  await workspace[Symbol.asyncDispose]();
});

const atElsewhere = () => ({ MIRROR_BASE_URL: elsewhere.url, MIRROR_API_KEY: elsewhere.apiKey });

it.each(['sync', 'reconcile', 'status'])(
  '%s refuses another project than the one that the folder mirrors',
  async (command) => {
    const { code, stdout, stderr } = await workspace.run([command], { env: { MIRROR_PROJECT_ID: '4711' } });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(
      `error: the data folder mirrors project ${workspace.sandbox.projectId} of http://127.0.0.1, not project 4711 of http://127.0.0.1\n`,
    );
    expect(stderr).toMatch(/\n {2}[^\n]*MIRROR_DATA_DIR[^\n]*service\.movedFrom[^\n]*\n$/);
  },
);

it('takes a service that was started again on another port of this machine, and no other address', async () => {
  const env = atElsewhere();
  expect((await workspace.run(['sync', 'persons', ...unlimited], { env })).code).toBe(0);
  const otherHost = { ...env, MIRROR_BASE_URL: elsewhere.url.replace('127.0.0.1', 'localhost') };
  expect((await workspace.run(['sync', 'persons', ...unlimited], { env: otherHost })).code).toBe(2);
  const moved = ['sync', 'persons', ...unlimited, '--set', 'service.movedFrom=http://127.0.0.1:9000/'];
  expect((await workspace.run(moved, { env: otherHost })).code).toBe(0);
});
