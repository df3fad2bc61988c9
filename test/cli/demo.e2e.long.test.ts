import { expect, it } from 'vitest';
import { freshFolder, openTestMirror } from '../mirror/open-test-mirror.ts';
import { runCli } from './run-cli.ts';

// `.ci/package` runs the demo, as who installs the package does first, and looks at all that it shows.

it('the demo needs a fresh folder', async () => {
  const { dataDir } = openTestMirror();
  const ended = await runCli(['demo', '--data-dir', dataDir]);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain(`error: the demo needs a fresh folder, and this one has a mirror: ${dataDir}`);
});

it('the demo stops serving when its settings are wrong', async () => {
  const { code, stderr } = await runCli(['demo', '--data-dir', freshFolder(), '--set', 'nonsense=1']);
  expect(code).toBe(2);
  expect(stderr).toContain('nonsense: unknown setting');
});
