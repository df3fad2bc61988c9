import { afterAll, beforeAll, expect, it } from 'vitest';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 60, recordings: 40, profile: 'live' });
});
afterAll(() => workspace[Symbol.asyncDispose]());

const strict = [...unlimited, '--set', 'deletions.maxCount=2', '--log-level', 'error'];
const run = (...args: string[]) => workspace.run([...args, ...strict]);

/** Deletes persons at the service. */
function remove(count: number): void {
  const gone = [...workspace.sandbox.living()].slice(-count);
  for (const { uuid } of gone) workspace.sandbox.act({ do: 'delete', uuid });
}

it('what was not seen is not published, what is held says which plan holds it, and nothing is done without being told', async () => {
  const limited = await run('sync', 'recordings');
  expect(limited).toMatchObject({ code: 0 });
  expect(limited.stdout).toContain('in the configuration, set `recordings.query: {date_from: -30d}`');

  const exported = await run('export');
  expect(exported).toMatchObject({ code: 4 });
  expect(exported.stdout).toContain('NOT PUBLISHED: persons, distinct_ids, deletions, passes.');
  expect(Object.keys(publishedFilesIn(workspace.dataDir).readCurrent().snapshots)).toEqual(['recordings']);

  expect(await run('sync', 'persons')).toMatchObject({ code: 0 });
  remove(8);
  const held = await run('sync', 'persons');
  expect(held).toMatchObject({ code: 4 });
  const old = /--approve (\w+)/.exec(held.stdout)?.[1] ?? '';
  expect(await run('sync', 'recordings')).toMatchObject({ code: 0 });

  remove(2);
  expect(await run('sync', 'persons')).toMatchObject({ code: 4 });
  const late = await run('reconcile', '--approve', old);
  expect(late).toMatchObject({ code: 2, stdout: '' });
  expect(late.stderr).toMatch(
    new RegExp(`plan ${old} \\(8 persons\\) was replaced by plan (\\w+) \\(10 persons\\).*\\n.*--approve \\1\\n`),
  );

  const status = await run('status');
  expect(status.stdout).not.toMatch(/^playlists +\d+ [\d*]/m);
  expect(status.stdout).toContain('in the configuration, set `recordings.query: {date_from: -30d}`');
  const doctor = await workspace.run(['doctor', ...strict], { env: { MIRROR_API_KEY: workspace.sandbox.readOnlyKey } });
  // Nobody has asked for an erasure.
  expect(doctor).toMatchObject({ code: 0 });
  expect(doctor.stdout).toContain('this key cannot delete persons: erasures will be refused');
});
