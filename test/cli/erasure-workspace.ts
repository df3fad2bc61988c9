import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { startSandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { copyFolder } from './copy-folder.ts';
import { jsonOf, runCli, startCli, surroundedBy, type Ended } from './run-cli.ts';
import { serviceOfEarlier } from './service-of-earlier.ts';
import type { Workspace } from './workspace.ts';

/** The subject of an erasure request, with every text that only this person has. */
export type Subject = { request: string; uuids: string[]; recordings: string[]; texts: string[] };

/**
 * A data folder with three generations of published files, and the data of its service, both at rest in `base`, before
 * any person is erased. `leaving`: all names of the persons who leave: the subjects, and the person whom the service lost.
 */
export type PreparedErasure = AsyncDisposable & {
  folder: string;
  base: string;
  subjects: Subject[];
  leaving: ReadonlySet<string>;
};

const service: Omit<SandboxOptions, 'dir'> = { persons: 120, recordings: 40, seed: 11, port: 0, ...serviceOfEarlier };

const settings = [
  ['persons.pageSize', '50'],
  ['budget.windows', '[]'],
  ['budget.recordings.windows', '[]'],
  ['budget.concurrency', '1'],
  ['deletions.confirmAfterSeconds', '0'],
  ['deletions.collectHours', '0'],
  ['export.partRows', '60'],
  ['log.level', 'warn'],
].flatMap(([name, value]) => ['--set', `${name}=${value}`]);

const dataOf = (folder: string): string => join(folder, 'data');

/** Opens a workspace on the data and the service that a folder holds. */
async function openErasureWorkspaceIn(folder: string, options: Partial<SandboxOptions> = {}): Promise<Workspace> {
  const sandbox = await startSandbox({ ...service, hostile: true, ...options, dir: join(folder, 'service') });
  const dataDir = dataOf(folder);
  const env = { MIRROR_BASE_URL: sandbox.url, MIRROR_PROJECT_ID: sandbox.projectId, MIRROR_API_KEY: sandbox.apiKey };
  const around = (args: readonly string[]): string[] => [
    ...args.slice(0, 1),
    ...settings,
    ...args.slice(1),
    '--data-dir',
    dataDir,
  ];
  return {
    folder,
    dataDir,
    sandbox,
    env,
    start: (args, surroundings) => startCli(around(args), surroundedBy(env, surroundings)),
    run: (args, surroundings) => runCli(around(args), surroundedBy(env, surroundings)),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** Opens a workspace on a copy of the prepared folder. The copy is removed when the workspace is disposed of. */
export async function openErasureWorkspace({
  folder,
  base,
}: Pick<PreparedErasure, 'folder' | 'base'>): Promise<Workspace> {
  const copy = mkdtempSync(join(folder, 'workspace-'));
  copyFolder(base, copy);
  const workspace = await openErasureWorkspaceIn(copy);
  return {
    ...workspace,
    [Symbol.asyncDispose]: async () => {
      await workspace[Symbol.asyncDispose]();
      rmSync(copy, { recursive: true });
    },
  };
}

/**
 * Prepares a data folder and its service: persons were merged, changed and deleted between the exports, recordings are in
 * playlists, and four persons are subjects of requests. A fifth person is gone from the service, which confirmed it once.
 */
export async function prepareErasure(): Promise<PreparedErasure> {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-erasure-'));
  const base = join(folder, 'base');
  mkdirSync(base);
  await tellPlaylists(base);
  const workspace = await openErasureWorkspaceIn(base);
  const { sandbox, dataDir } = workspace;
  const succeed = async (...args: string[]): Promise<Ended> => {
    const ended = await workspace.run(args);
    expect(ended).toMatchObject({ code: expect.toBeOneOf([0, 4]), stderr: '' });
    return ended;
  };
  await succeed('sync');
  await succeed('export');
  const persons = [...sandbox.living()];
  const recorded = reading(dataDir, (db) =>
    db
      .prepare<[], string>(
        `SELECT recordings.person_uuid FROM playlist_recordings JOIN recordings ON id = recording_id
          WHERE recordings.person_uuid IS NOT NULL ORDER BY 1 LIMIT 1`,
      )
      .pluck()
      .get(),
  );
  const at = (index: number): string => persons[index]?.uuid ?? '';
  const [loser, survivor, changed, gone] = [40, 70, 100, 10].map(at);
  if (!loser || !survivor || !changed || !gone || !recorded) throw new Error('a service without them');
  sandbox.act({ do: 'merge', loser, survivor });
  sandbox.store.persons.mergeProperties(
    persons[100]?.id ?? 0,
    { plan: 'a plan of nobody else' },
    { userId: 1, atMs: 0 },
  );
  await succeed('sync');
  await succeed('reconcile');
  await succeed('export');
  sandbox.act({ do: 'delete', uuid: gone });
  // Of an unchanged mirror there would be no third generation.
  sandbox.store.persons.mergeProperties(persons[101]?.id ?? 0, { plan: 'another' }, { userId: 1, atMs: 0 });
  await succeed('sync');
  await succeed('export');
  const wanted = [survivor, changed, recorded, at(30)];
  const file = join(folder, 'people.csv');
  writeFileSync(file, wanted.map((uuid) => `uuid,${uuid}\n`).join(''));
  const added = jsonOf(
    await succeed('erase', 'add', '--file', file, '--basis', 'objection', '--by', 'dpo', '--json'),
  ) as { requests: { id: string; state: string }[] };
  expect(added.requests.map(({ state }) => state)).toEqual(wanted.map(() => 'scoped'));
  const subjects = wanted.map((uuid, index): Subject => {
    const uuids = uuid === survivor ? [survivor, loser] : [uuid];
    const known = persons.filter((person) => uuids.includes(person.uuid));
    return {
      request: added.requests[index]?.id ?? '',
      uuids,
      texts: known.flatMap(({ distinct_ids: ids, properties }) => ids.concat(emailsIn(properties))),
      recordings: reading(dataDir, (db) =>
        db.prepare<[string], string>(`SELECT id FROM recordings WHERE person_uuid = ?`).pluck().all(uuid),
      ),
    };
  });
  await workspace[Symbol.asyncDispose]();
  const goneIds = persons.find(({ uuid }) => uuid === gone)?.distinct_ids ?? [];
  return {
    folder,
    base,
    subjects,
    leaving: new Set([gone, ...goneIds, ...textsOf(subjects)]),
    [Symbol.asyncDispose]: () => Promise.resolve(rmSync(folder, { recursive: true })),
  };
}

/** Every text that tells who somebody is. */
export function textsOf(subjects: readonly Subject[]): string[] {
  return subjects.flatMap(({ uuids, recordings, texts }) => [...uuids, ...recordings, ...texts]);
}

/** The e-mail address among a person's properties, which may be any JSON; a list of none or one. */
export function emailsIn(properties: string): string[] {
  const { email } = (JSON.parse(properties) ?? {}) as { email?: unknown };
  return typeof email === 'string' && email.includes('@') ? [email] : [];
}

/** As documented, no answer tells which recordings a playlist has; live services tell. */
async function tellPlaylists(base: string): Promise<void> {
  // Filled in the documented way first.
  await (await openErasureWorkspaceIn(base))[Symbol.asyncDispose]();
  const live = await openErasureWorkspaceIn(base, { profile: 'live', live: { retentionDays: 36_500 } });
  const shortIds = ['--set', `playlists.shortIds=[${live.sandbox.playlists.join(', ')}]`];
  expect(await live.run(['sync', ...shortIds])).toMatchObject({ code: 0 });
  await live[Symbol.asyncDispose]();
}

/** Reads a mirror, and closes it. */
export function reading<T>(dataDir: string, read: (db: Database) => T): T {
  using db = openDatabaseReadOnly(dataDir);
  return read(db);
}
