import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { jsonOf, runCli } from './run-cli.ts';

// The demo syncs, exports and erases among 20,000 persons.
vi.setConfig({ testTimeout: 300_000 });

it('the demo syncs, exports and shows the same counts everywhere; it needs a fresh folder', async () => {
  const dataDir = join(freshFolder(), 'demo');
  const ended = await runCli(['demo', '--hostile', '--json', '--data-dir', dataDir], { timeoutMs: 300_000 });
  expect(ended.code).toBe(0);
  const shown = jsonOf(ended) as { counts: object[]; erasure: object; queries: { rows: unknown[] }[] };
  expect(shown.counts).toEqual([
    // Two of the erased have come back at the service.
    { dataset: 'persons', service: 19_997, mirror: 19_995, parquet: 19_995, verdict: 'complete' },
    { dataset: 'recordings', service: 3999, mirror: 3999, parquet: 3999, verdict: 'complete' },
  ]);
  expect(shown.erasure).toMatchObject({
    people: 5,
    filesRewritten: 7,
    foundAfter: 0,
    keptOut: 2,
    olderCopy: 'refused',
    isVerified: true,
  });
  expect(shown.queries.map(({ rows }) => rows.length)).toEqual([4, 3, 3]);
  expect(ended.stderr).toMatch(
    /^served .*\nsynced .*\nexported .*\nfinding .*\nerasing .*\nsyncing .*\nwaiting .*\nchecking .*\nerased .*\n$/,
  );
  expect(existsSync(join(dataDir, 'mirror.db'))).toBe(true);
  expect(readFileSync(join(dataDir, 'reports/certificate.html'), 'utf8')).toMatch(
    /Erased in our copy on [\d-]+; deleted at the service on [\d-]+; events deleted, as the service says/,
  );
  const { stdout } = await runCli(['status', '--data-dir', dataDir]);
  expect(stdout).toMatch(/^All is well\n/);

  const again = await runCli(['demo', '--data-dir', dataDir]);
  expect(again).toMatchObject({ code: 2, stdout: '' });
  expect(again.stderr).toContain(`error: the demo needs a fresh folder, and this one has a mirror: ${dataDir}`);
});

it('the demo stops serving when its settings are wrong', async () => {
  const { code, stderr } = await runCli(['demo', '--data-dir', freshFolder(), '--set', 'nonsense=1']);
  expect(code).toBe(2);
  expect(stderr).toContain('nonsense: unknown setting');
});
