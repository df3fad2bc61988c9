import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const hourMs = 3_600_000;
const shiftedClock = new URL('shifted-clock-child.ts', import.meta.url).href;

type Certificate = {
  targets: { target: string; result: string; assurance: string }[];
  not_proven: { target?: string; says: string }[];
};

it.each(['auto', 'never'] as const)('the recordings of an erased person, at a live service (%s)', async (wanted) => {
  await using workspace = await openWorkspace({ profile: 'live', persons: 40, recordings: 120, seed: 9 });
  const { sandbox } = workspace;
  let aheadMs = 0;
  const settings = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0', '--log-level', 'warn'];
  const own = ['--set', `erasure.deleteRecordings=${wanted}`, '--set', 'recordings.query={date_from: -30d}'];
  const run = (...args: string[]): Promise<Ended> =>
    workspace.run([...args, ...settings, ...own], {
      env: { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_AHEAD_MS: String(aheadMs) },
    });
  const recordings = (): { id: string; distinct_id: string }[] =>
    sandbox.store.recordings.page({ limit: 500, offset: 0 }).documents.map((text) => JSON.parse(text) as never);
  const person = [...sandbox.living()].find(({ distinct_ids: ids, uuid }) => {
    return !uuid.endsWith('0') && recordings().some((recording) => ids.includes(recording.distinct_id));
  });
  if (!person) throw new Error('no person with recordings');
  const isOwn = ({ distinct_id: id }: { distinct_id: string }): boolean => person.distinct_ids.includes(id);
  const others = recordings().filter((recording) => !isOwn(recording));

  expect((await run('sync')).code).toBe(0);
  expect((await run('export')).code).toBe(0);
  writeFileSync(join(workspace.folder, 'people.csv'), `uuid,${person.uuid}\n`);
  const file = join(workspace.folder, 'people.csv');
  const added = jsonOf(
    await run('erase', 'add', '--file', file, '--basis', 'objection', '--by', 'dpo', '--keep-events', '--json'),
  ) as { requests: { id: string }[] };
  const id = added.requests[0]?.id ?? '';
  for (let round = 0; round < 4; round += 1) {
    await run('reconcile');
    aheadMs += 7 * hourMs;
  }
  const shown = jsonOf(await run('audit', 'certificate', id, '--json')) as { certificate: Certificate };
  const { targets, not_proven: notProven } = shown.certificate;
  const result = targets.find(({ target }) => target === 'upstream.recordings');
  const says = notProven.find(({ target }) => target === 'upstream.recordings')?.says;
  if (wanted === 'auto') {
    expect(result).toMatchObject({ result: 'absent', assurance: 'observed' });
    expect(recordings()).toEqual(others);
  } else {
    expect(result).toMatchObject({ result: 'not_deletable_via_api', assurance: 'not_reached' });
    expect(says).toContain('the settings of this program say not to ask for it');
    expect(recordings().some(isOwn)).toBe(true);
  }
  expect((await run('audit', 'verify')).code).toBe(0);
});
