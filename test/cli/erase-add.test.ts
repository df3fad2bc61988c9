import { expect, test } from 'vitest';
import { putEmptyMirror, freshFolder } from '../mirror/open-test-mirror.ts';
import { jsonOf, runCliHere } from './run-cli.ts';

test('a colleague whose words a known request does not have is told so, and that it deletes the events', async () => {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  const add = (...args: string[]) =>
    runCliHere([
      'erase',
      'add',
      '--email',
      'ann@canary.example',
      '--basis',
      'objection',
      '--config',
      '/dev/null',
      '--data-dir',
      dataDir,
      ...args,
    ]);
  const decided = ['--exception', 'legal_claims', '--decided-by', 'legal_team', '--identity', 'document'];
  const first = await add('--by', 'T-1', '--identity', 'document');
  expect(first.stdout).not.toContain('was not recorded');
  const { stdout } = await add('--by', 'T-2', '--keep-events', ...decided);
  expect(stdout).toMatch(
    /\nline 1: what you stated was not recorded \(--by, --decided-by, --exception, --keep-events\): `erase amend [-0-9a-f]{36}` records it; the open request deletes the events: /,
  );
  const again = await add('--by', 'T-1', '--keep-events', '--json');
  expect(jsonOf(again)).toMatchObject({ requests: [{ isKnown: true, unrecorded: ['keep_events'] }] });
  expect((await add('--by', 'T-1')).stdout).not.toContain('was not recorded');
});
