import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { listCurrentSnapshots } from '../../src/snapshot/current-snapshots.ts';
import { dbtModel, dbtSources } from '../../src/snapshot/load-sql.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { checkHistories } from './delta-histories.ts';

// `.ci/contracts` names a Python that has dbt.
const python = process.env['DBT_PYTHON'];
const datasets = ['persons', 'recordings', 'deletions', 'passes'] as const;

/** A dbt project with the models of two datasets. */
function makeProject(folder: string): void {
  mkdirSync(join(folder, 'models'), { recursive: true });
  writeFileSync(join(folder, 'dbt_project.yml'), '{ name: consumer, version: 1.0.0, profile: consumer }');
  const output = { type: 'duckdb', path: join(folder, 'consumer.duckdb') };
  writeFileSync(
    join(folder, 'profiles.yml'),
    JSON.stringify({ consumer: { target: 'dev', outputs: { dev: output } } }),
  );
  for (const dataset of ['persons', 'recordings'] as const)
    writeFileSync(join(folder, 'models', `${dataset}.sql`), dbtModel(dataset));
}

test.runIf(python)('whatever is published in between, the tables of the dbt models are the mirror', async () => {
  const dbt = spawn(python ?? '', ['test/interop/run-dbt.py'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TZ: 'UTC', DO_NOT_TRACK: '1' },
  });
  onTestFinished(() => void dbt.kill());
  const lines = createInterface(dbt.stdout)[Symbol.asyncIterator]();
  let runs = 0;
  const deltas = await checkHistories(8, async (dataDir) => {
    const folder = join(dataDir, 'dbt');
    makeProject(folder);
    writeFileSync(
      join(folder, 'models/sources.yml'),
      dbtSources(listCurrentSnapshots(publishedFilesIn(dataDir)), datasets),
    );
    dbt.stdin.write(`${folder}\n`);
    // None follows where dbt has failed: then this throws.
    const { value: line = '' } = await lines.next();
    runs += 1;
    return JSON.parse(line) as unknown[];
  });
  expect(deltas).toBeGreaterThan(10);
  expect(runs).toBeGreaterThan(deltas);
});
