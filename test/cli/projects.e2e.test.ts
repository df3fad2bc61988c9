import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

it('a command that is suggested names the project, as the command line did, and nothing else is changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-'));
  const config = join(folder, 'projects.yaml');
  writeFileSync(config, `dataDir: ${join(folder, 'data')}\nprojects:\n  - name: shop\n  - name: blog\n`);
  const one = await runCli(['status', '--config', config, '--project', 'shop']);
  expect(one.stderr).toContain('run `analytics-mirror --project shop sync` first');
  const json = await runCli(['status', '--json', '--config', config, '--project', 'shop']);
  expect(json.stdout).toContain('run `analytics-mirror --project shop sync` first');
  const other = join(folder, 'one.yaml');
  writeFileSync(other, `dataDir: ${join(folder, 'data')}\n`);
  expect((await runCli(['status', '--config', other])).stderr).toContain('run `analytics-mirror sync` first');
});
