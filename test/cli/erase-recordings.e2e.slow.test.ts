import { certificateWords } from '../../docs/verifier/certificate-words.mjs';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { expect, it } from 'vitest';
import { scopes } from '../../src/contract/endpoints.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const hourMs = 3_600_000;
const shiftedClock = new URL('shifted-clock-child.ts', import.meta.url).href;

const verifier = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));

type Certificate = { targets: { target: string; result: string; assurance: string }[] };

/** How the recordings end: with their person; by their ids, as another had deleted the person; as the key, or nobody, may delete any. */
const ways = [
  ['with their person', { result: 'absent', assurance: 'observed' }, null],
  ['by their ids', { result: 'deleted', assurance: 'observed' }, 'saw it from outside only'],
  [
    'by their ids, without the scope',
    { result: 'not_deletable_by_key', assurance: 'not_reached' },
    'does not let the key',
  ],
  [
    'never',
    { result: 'not_deletable_via_api', assurance: 'not_reached' },
    'the settings of this program say not to ask for it',
  ],
] as const;

it.each(ways)('the recordings of an erased person, at a live service: deleted %s', async (way, expected, sentence) => {
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  await using workspace = await openWorkspace({ profile: 'live', persons: 40, recordings: 120, seed: 9, clock });
  const { sandbox } = workspace;
  const wanted = way === 'never' ? 'never' : 'auto';
  const isByIds = way.startsWith('by their ids');
  if (way.endsWith('scope'))
    sandbox.act({
      do: 'set_scopes',
      key: sandbox.apiKey,
      scopes: scopes.filter((scope) => scope !== 'session_recording:write'),
    });
  const settings = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0', '--log-level', 'warn'];
  const own = ['--set', `erasure.deleteRecordings=${wanted}`, '--set', 'recordings.query={date_from: -30d}'];
  const run = (...args: string[]): Promise<Ended> =>
    workspace.run([...args, ...settings, ...own], {
      env: { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_AHEAD_MS: String(aheadMs) },
    });
  const recordings = (): { id: string; distinct_id: string }[] =>
    sandbox.store.recordings.page({ limit: 500, offset: 0 }).documents.map((text) => JSON.parse(text) as never);
  const person = [...sandbox.living()].find(({ distinct_ids: ids, uuid }) => {
    const own = recordings().filter((recording) => ids.includes(recording.distinct_id));
    return !uuid.endsWith('0') && own.length > 0 && own.every(({ id }) => !/[/.]/.test(id));
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
  if (isByIds) sandbox.act({ do: 'delete', uuid: person.uuid });
  for (let round = 0; round < 4; round += 1) {
    await run('reconcile');
    aheadMs += 7 * hourMs;
  }
  const shown = jsonOf(await run('audit', 'certificate', id, '--json')) as { certificate: Certificate };
  const { notProven, summary } = certificateWords(shown.certificate);
  expect(shown.certificate.targets.find(({ target }) => target === 'upstream.recordings')).toMatchObject(expected);
  const says = notProven.find(({ target }) => target === 'upstream.recordings')?.says ?? '';
  if (sentence !== null) expect(says).toContain(sentence);
  expect(recordings().some(isOwn)).toBe(expected.assurance === 'not_reached');
  expect(recordings().filter((recording) => !isOwn(recording))).toEqual(others);
  expect(summary.includes('session recordings deleted at the service on 2')).toBe(way === 'by their ids');
  const certificateFile = join(workspace.dataDir, 'reports', 'certificates', `${id}-g1.json`);
  const asked = [verifier, join(workspace.dataDir, 'ledger'), '--certificate', certificateFile];
  expect(spawnSync(process.execPath, asked, { encoding: 'utf8' })).toMatchObject({ status: 3 });
  expect((await run('audit', 'verify')).code).toBe(0);
});
