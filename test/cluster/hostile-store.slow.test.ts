import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { hostileAnswers, type Hostile, type HostileKind } from '../bucket/hostile-answers.ts';
import { runAtHostile, tellCosts } from '../bucket/hostile-run.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { freshModel, type S3Model } from '../bucket/s3-model.ts';
import { openWorkspace } from '../cli/workspace.ts';
import { openMachines } from './open-machines.ts';
import { clusterKey } from './store-world.ts';

/** A project in a cluster, which machine `one` has given up. */
async function openScene() {
  const model = await freshModel();
  const workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const { on, startOn } = await openMachines(workspace, { place: { endpoint: model.endpoint } });
  const start = (...args: string[]) =>
    startOn(`m${(machines += 1)}`, [
      ...args,
      '--log-level',
      'error',
      '--set',
      'retry.attemptsMax=2',
      '--set',
      'retry.delayBaseMs=1',
    ]);
  let machines = 0;
  const uuids = [...workspace.sandbox.living()].map(({ uuid }) => uuid);
  const requested = new Set<string>();
  const requestOf = (): string[] => [
    'erase',
    'add',
    '--uuid',
    uuids.pop() ?? '',
    '--basis',
    'objection',
    '--by',
    'the-test',
    '--keep-events',
  ];
  await on('one', ['sync']);
  await on('one', ['export']);
  await on('one', requestOf());
  const secrets = [storeKeys.AWS_SECRET_ACCESS_KEY, workspace.sandbox.apiKey, clusterKey.toString('hex')];
  /** What a command on another machine finds: every request that was received, and a ledger in which all is right. */
  const assertWhole = async (): Promise<void> => {
    const { json } = await on('one', ['erase', 'list', '--all']);
    const listed = z.object({ requests: z.array(z.object({ id: z.string() })) }).parse(json).requests;
    const ids = new Set(listed.map(({ id }) => id));
    for (const id of requested) expect(ids.has(id)).toBe(true);
  };
  return { model, on, start, requestOf, requested, secrets, assertWhole };
}

/** The same answers, from when the ledger gets its second append: the first says who has taken over. */
const onceTaken = (hostile: Hostile): Hostile => ({
  ...hostile,
  intercept: (model: S3Model) => {
    const intercept = hostile.intercept(model);
    let appends = 0;
    return (request, response, asked) => {
      if (request.method === 'PUT' && asked.key.includes('/ledger/')) appends += 1;
      return appends > 1 && intercept(request, response, asked);
    };
  },
});

const sentence = /^error: [^\n]+\n {2}[^\n]+\n/;
const added = z.object({ requests: z.tuple([z.object({ id: z.string() })]) });

it.each(Object.entries(hostileAnswers) as [HostileKind, readonly Hostile[]][])(
  'the storage of a cluster in a hostile store, %s: each command says so in little memory and time, and nothing is lost',
  async (kind, answers) => {
    const { model, on, start, requestOf, requested, secrets, assertWhole } = await openScene();
    const costs = { 'taking over and listing': [], 'erase add, with its commit': [] } as Record<
      string,
      { megabytes: number; seconds: number }[]
    >;
    for (const hostile of answers.filter(({ isAlike }) => isAlike !== true)) {
      const expected = { codes: [1, 3, 5], secrets, sentence };
      const list = await runAtHostile(model, hostile, () => start('erase', 'list'), expected);
      costs['taking over and listing']?.push(list.cost);
      const add = await runAtHostile(model, onceTaken(hostile), () => start(...requestOf()), expected);
      costs['erase add, with its commit']?.push(add.cost);
      if (add.ended.code === 0) requested.add(added.parse(JSON.parse(add.ended.stdout)).requests[0].id);
      await assertWhole();
    }
    for (const [use, each] of Object.entries(costs)) tellCosts(`cluster.storage, ${use}, ${kind}`, each);
    await on('one', ['audit', 'verify']);
  },
  1_800_000,
);
