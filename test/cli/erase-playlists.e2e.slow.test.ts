import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/core/clock.ts';
import { expect, it } from 'vitest';
import { scopes } from '../../src/contract/endpoints.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const dayMs = 86_400_000;
const shiftedClock = new URL('shifted-clock-child.ts', import.meta.url).href;
const verifier = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));

type Certificate = { targets: { target: string; result: string; assurance: string }[]; summary: string };
type Pass = { dataset: string; verdict: string; untold: { shortId: string; reason: string }[] };
type Check = { check: string; state: string; detail: string; fix?: string };

/**
 * A live service with two playlists: one of 80 recordings, which it shows in part, and one with an entry of each of three persons
 * who are to be erased. Two more are in none. The key may not change playlists.
 */
async function openWorld(clock: Clock) {
  const workspace = await openWorkspace({ profile: 'live', persons: 120, recordings: 240, seed: 9, clock });
  const { sandbox } = workspace;
  const { store } = sandbox;
  const recordings = store.recordings
    .page({ limit: 500, offset: 0 })
    .documents.map((text) => JSON.parse(text) as { id: string; distinct_id: string });
  // A live service has no route for the others.
  const routed = recordings.filter(({ id }) => !/[/.]/.test(id));
  const [long = '', short = ''] = sandbox.playlists;
  for (const shortId of [long, short])
    for (const id of store.playlists.members(shortId)) store.playlists.removeRecording(shortId, id);
  const all = [...sandbox.living()].filter(({ uuid }) => !uuid.endsWith('0'));
  const entriesOf = ({ distinct_ids: ids }: (typeof all)[number]): typeof recordings =>
    recordings.filter((recording) => ids.includes(recording.distinct_id));
  const people = all
    .filter((person) => entriesOf(person).length > 0 && entriesOf(person).every((each) => routed.includes(each)))
    .slice(0, 5);
  expect(people).toHaveLength(5);
  const ofPeople = new Set(people.flatMap(({ distinct_ids: ids }) => ids));
  const entries = people.slice(0, 3).map((person) => entriesOf(person)[0]?.id ?? '');
  for (const id of entries) store.playlists.addRecording(short, id);
  const others = routed.filter(({ distinct_id: id }) => !ofPeople.has(id)).slice(0, 80);
  for (const { id } of others) store.playlists.addRecording(long, id);
  expect(store.playlists.members(long)).toHaveLength(80);
  const without = 'session_recording_playlist:write';
  sandbox.act({ do: 'set_scopes', key: sandbox.apiKey, scopes: scopes.filter((scope) => scope !== without) });
  return { workspace, sandbox, long, short, people, entries };
}

it('a key that may not change playlists, an entry that is gone, and a playlist of 80 hold up no other request', async () => {
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const { workspace, sandbox, long, short, people, entries } = await openWorld(clock);
  await using _closed = workspace;
  const run = (...args: string[]): Promise<Ended> =>
    workspace.run(
      [
        ...args,
        ...unlimited,
        ...[
          'deletions.confirmAfterSeconds=0',
          'recordings.query={date_from: -30d}',
          `playlists.shortIds=[${long}, ${short}]`,
        ].flatMap((setting) => ['--set', setting]),
        '--log-level',
        'warn',
      ],
      { env: { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_AHEAD_MS: String(aheadMs) } },
    );
  const reconcile = async (rounds: number): Promise<(number | null)[]> => {
    const codes: (number | null)[] = [];
    for (let round = 0; round < rounds; round += 1) {
      codes.push((await run('reconcile')).code);
      // Recordings that the service deletes with their person are looked for some hours later.
      aheadMs += 7 * 3_600_000;
    }
    return codes;
  };

  // The pass says which entries it was not told, and so do status and doctor.
  const synced = await run('sync', '--json');
  expect(synced.code).toBe(0);
  const { passes } = jsonOf(synced) as { passes: Pass[] };
  const told = { verdict: 'complete', untold: [{ shortId: long, reason: 'cut' }] };
  expect(passes.find(({ dataset }) => dataset === 'playlists')).toMatchObject(told);
  const sentence = `not all recordings were told of ${long} (the service has more than it shows)`;
  expect((await run('status')).stdout).toContain(sentence);
  const { findings: checks } = jsonOf(await run('doctor', '--json')) as { findings: Check[] };
  const stateOf = (name: string): string | undefined => checks.find(({ check }) => check === name)?.state;
  expect(stateOf(`service: playlist ${long}`)).toBe('warning');
  expect(stateOf(`service: playlist ${short}`)).toBe('ok');
  expect(checks.find(({ check }) => check === 'service: changing playlists')?.fix).toContain(
    'session_recording_playlist:write',
  );

  const file = join(workspace.folder, 'people.csv');
  writeFileSync(file, people.map(({ uuid }) => `uuid,${uuid}\n`).join(''));
  const add = ['erase', 'add', '--file', file, '--basis', 'objection', '--by', 'dpo', '--keep-events', '--json'];
  const { requests } = jsonOf(await run(...add)) as { requests: { id: string }[] };
  const idOf = (index: number): string => requests[index]?.id ?? '';
  // Somebody takes the second person's recording out of the playlist before the erasure.
  sandbox.store.playlists.removeRecording(short, entries[1] ?? '');

  for (const code of await reconcile(5)) expect([0, 4]).toContain(code);
  const states = async (): Promise<string[]> => {
    const listed = jsonOf(await run('erase', 'list', '--all', '--json')) as {
      requests: { id: string; state: string }[];
    };
    return requests.map(({ id }) => listed.requests.find((request) => request.id === id)?.state ?? '');
  };
  const ended = 'sealed';
  const refused = 'attention';
  // With its recording, an entry that is gone is no longer shown: only with the scope the service tells more.
  expect(await states()).toEqual([refused, refused, refused, ended, ended]);
  const shown = (await run('erase', 'show', idOf(0))).stdout;
  expect(shown).toContain('session_recording_playlist:write');

  /** How a request ended, as its certificate says; the file is what `verify.mjs` agrees with. */
  const certificateOf = async (index: number): Promise<Record<string, string>> => {
    const { certificate } = jsonOf(await run('audit', 'certificate', idOf(index), '--json')) as {
      certificate: Certificate;
    };
    const path = join(workspace.dataDir, 'reports', 'certificates', `${idOf(index)}-g1.json`);
    const verified = spawnSync(process.execPath, [verifier, join(workspace.dataDir, 'ledger'), '--certificate', path], {
      encoding: 'utf8',
    });
    expect(verified.stdout + verified.stderr).not.toMatch(/says_otherwise|other_certificate/);
    expect(verified.status).toBe(3);
    return Object.fromEntries(
      certificate.targets
        .filter(({ target }) => /playlists|recordings/.test(target))
        .map(({ target, result, assurance }) => [target, `${result}, ${assurance}`]),
    );
  };
  // The mirror was not told what else is in the playlist of 80.
  for (const index of [3, 4])
    expect(await certificateOf(index)).toMatchObject({
      'upstream.playlists': 'not_verifiable, not_verifiable',
      'upstream.recordings': 'absent, observed',
    });

  // An operator ends one as it is; the others go on once the key has the scope.
  expect((await run('erase', 'approve', idOf(2))).code).toBe(0);
  sandbox.act({ do: 'set_scopes', key: sandbox.apiKey, scopes: [...scopes] });
  aheadMs += dayMs + 60_000;
  expect((await reconcile(6)).at(-1)).toBe(0);
  expect(await states()).toEqual(people.map(() => ended));
  expect(sandbox.store.playlists.members(short)).toEqual([entries[2]]);
  for (const index of [0, 1])
    expect(await certificateOf(index)).toMatchObject({ 'upstream.playlists': 'removed, not_verifiable' });
  expect(await certificateOf(2)).toMatchObject({ 'upstream.playlists': 'not_deletable_by_key, not_reached' });
  expect((await run('audit', 'verify')).code).toBe(0);
});
