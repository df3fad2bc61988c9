import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { jsonOf, type Running } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { hostileAnswers, type Hostile, type HostileKind } from './hostile-answers.ts';
import { runAtHostile, tellCosts } from './hostile-run.ts';
import { storeKeys } from './real-store.ts';
import { freshModel } from './s3-model.ts';

/** A folder that has published twice, and a bucket that has followed. */
async function openScene() {
  const model = await freshModel();
  const workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const set = [
    'export.destination=s3://bucket/mirror',
    `export.s3.endpoint=${model.endpoint}`,
    'export.s3.forcePathStyle=true',
    'export.partRows=50',
    'retry.attemptsMax=2',
    'retry.delayBaseMs=1',
  ].flatMap((each) => ['--set', each]);
  const start = (...args: string[]): Running =>
    workspace.start([...args, '--log-level', 'error', ...unlimited, ...set], { env: storeKeys });
  const succeed = async (...args: string[]): Promise<void> => {
    const ended = await start(...args, '--json').ended;
    expect(ended.code, `it said ${ended.stderr}`).toBe(0);
    jsonOf(ended);
  };
  for (const name of ['first', 'second']) {
    workspace.sandbox.act({ do: 'create', distinct_ids: [name] });
    await succeed('sync');
    await succeed('export');
  }
  /** Something to put where nothing stands, over something else, and to remove. */
  const leaveBehind = (): void => {
    const parts = [...model.current().keys()].filter((key) => key.endsWith('.parquet'));
    model.versions.delete(parts[0] ?? '');
    for (const key of [parts[1] ?? '', 'mirror/CURRENT.json']) model.put(key, 'something else');
  };
  const assertEqual = async (): Promise<void> => {
    await succeed('reconcile');
    const paths = publishedFilesIn(workspace.dataDir)
      .listPaths()
      .map(({ path }) => path);
    expect(new Map([...model.versions].map(([key, versions]) => [key, versions.length]))).toEqual(
      new Map(paths.map((path) => [`mirror/${path}`, 1])),
    );
    for (const [key, bytes] of model.current())
      expect(bytes.equals(readFileSync(join(workspace.dataDir, 'snapshots', key.slice('mirror/'.length))))).toBe(true);
  };
  const secrets = [storeKeys.AWS_SECRET_ACCESS_KEY, workspace.sandbox.apiKey];
  return { model, start, leaveBehind, assertEqual, secrets };
}

const sentence = /THE BUCKET DOES NOT FOLLOW: [^\n]+\n[^\n]+\n/;

it.each(Object.entries(hostileAnswers) as [HostileKind, readonly Hostile[]][])(
  'a bucket of a hostile store, %s: a reconciliation says so in little memory and time, and the next one mends all',
  async (kind, answers) => {
    const { model, start, leaveBehind, assertEqual, secrets } = await openScene();
    const costs = [];
    // What is wrong as a list changes nothing.
    const isReadOnly = kind === 'endless list' || kind === 'entity bomb';
    for (const [index, hostile] of answers.entries()) {
      if (!isReadOnly || index === 0) leaveBehind();
      const expected = { codes: [4], secrets, sentence };
      costs.push((await runAtHostile(model, hostile, () => start('reconcile'), expected)).cost);
      if (!isReadOnly) await assertEqual();
    }
    await assertEqual();
    tellCosts(`export.destination, ${kind}`, costs);
  },
  900_000,
);
