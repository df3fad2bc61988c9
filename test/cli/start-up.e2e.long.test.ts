import { expect, it } from 'vitest';
import { ofClusters, packagesHook } from './loaded-packages.ts';
import { runCli } from './run-cli.ts';
import { openWorkspace, unlimited } from './workspace.ts';

it('sync, export and status load nothing of clusters and buckets where neither is set', async () => {
  await using workspace = await openWorkspace({ persons: 20, recordings: 2, hostile: false });
  const env = { ...workspace.env, NODE_OPTIONS: `--import=${packagesHook}` };
  for (const line of ['sync', 'export', 'status']) {
    const { code, stderr } = await runCli([line, ...unlimited], { env });
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    const packages = JSON.parse(stderr.split('\n').at(-1) ?? '') as string[];
    expect(packages).toContain('better-sqlite3');
    for (const name of ofClusters) expect([line, ...packages]).not.toContain(name);
  }
});
