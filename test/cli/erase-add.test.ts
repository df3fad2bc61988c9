import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { freshFolder, putEmptyMirror } from '../mirror/open-test-mirror.ts';
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

test('what cannot be cancelled or approved is told with its state in words', async () => {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  const run = (...args: string[]) => runCliHere(['erase', ...args, '--config', '/dev/null', '--data-dir', dataDir]);
  const added = await run('add', '--email', 'ann@canary.example', '--basis', 'objection', '--by', 'T-1', '--json');
  const [{ id }] = (jsonOf(added) as { requests: [{ id: string }] }).requests;
  const about = { request: id, generation: 1 };
  openLedger(dataDir, systemClock).append([
    { type: 'scoped', ...about, persons: 1, distinct_ids: 1, recordings: 0, quarantined: 0, files: 0 },
  ]);
  expect((await run('approve', id)).stderr).toContain(`request ${id} (found, not begun): there is nothing to approve`);
  await run('cancel', id);
  expect((await run('cancel', id)).stderr).toContain(`request ${id} (cancelled) can no longer be cancelled`);
});

test('a scan of nothing besides is refused: an unset variable would name the folder that the program runs in', async () => {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  const scan = ['erase', 'scan', '--also', '', '--config', '/dev/null', '--data-dir', dataDir];
  expect(await runCliHere(scan)).toMatchObject({ code: 2, stderr: expect.stringContaining('--also names nothing') });
});
