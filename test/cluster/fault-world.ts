import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifyDataFolder } from '../../src/audit/verify-data-folder.ts';
import { unpackFiles } from '../../src/cluster/archive.ts';
import { sharedProject } from '../../src/cluster/cluster-home.ts';
import { openSealed } from '../../src/cluster/sealed-file.ts';
import { listCheckpointSizes, readCheckpointFile } from '../../src/ledger/checkpoint.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { findFencedIdentifiers } from '../../src/mirror/fence.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import type { LivingPerson } from '../../src/sandbox/store/truth.ts';
import { isMadeAnew, residueOf } from '../cli/erasure-invariants.ts';
import { emailsIn, reading, type Subject } from '../cli/erasure-workspace.ts';
import { contradictionsIn } from '../cli/mirror-consistency.ts';
import { jsonOf, type Ended } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { noJobs, openWorkers, type Ways } from './cluster-workers.ts';
import { run } from './cluster-world.ts';
import { clusterKey } from './store-world.ts';

const preload = (file: string): string => `--import ${new URL(file, import.meta.url).href}`;
/** Preloaded into every machine. */
const quickly = preload('quick-cluster-child.ts');
/** Preloaded besides into a machine that is killed or stopped. */
export const killable = `${quickly} ${preload('../kill/kill-child.ts')}`;

const project = 'shop';
/** What only a run that was killed leaves, or one that is not over. */
const tolerated = /^(?:a run without an outcome|a pass that was not taken up to its end)$/;

export type FaultWorld = Awaited<ReturnType<typeof openFaultWorld>>;

/**
 * A project that machines of a cluster share, with a mirror that a machine `desk` has made. `others`: projects that are held too, and
 * that their service does not have.
 */
export async function openFaultWorld({ others = [] }: { others?: readonly string[] } = {}) {
  const workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const { sandbox } = workspace;
  const service = { baseUrl: sandbox.url, projectId: sandbox.projectId };
  const schedule = { full: '*/2 * * * * *', export: '*/3 * * * * *', reconcile: '* * * * * *' };
  const workers = await openWorkers({
    projects: [
      { name: project, service },
      ...others.map((name) => ({ name, service: { ...service, projectId: name } })),
    ],
    apiKey: sandbox.apiKey,
    settings: {
      deletions: { confirmAfterSeconds: 0, collectHours: 0, maxShare: 1 },
      export: { partRows: 25 },
      persons: { pageSize: 25 },
      schedule: { ...noJobs, ...schedule },
    },
    flags: unlimited,
    env: { NODE_OPTIONS: quickly },
    limitsMs: { worker: 900_000, command: 900_000, wait: 400_000 },
  });
  const { store, address, folderOf } = workers;
  const folder = folderOf('.');
  const on = (machine: string, args: readonly string[], ways?: Ways): Promise<Ended> =>
    workers.on(machine, [...args, '--project', project], ways);
  const succeed = async (machine: string, ...args: string[]): Promise<unknown> => {
    const ended = await on(machine, [...args, '--json']);
    expect(ended.code, `${args.join(' ')}: ${ended.stdout.slice(-1500)}${ended.stderr.slice(-1500)}`).toBe(0);
    return jsonOf(ended);
  };
  /** Reads the mirror that a machine has at the moment. Undefined where it has none. */
  const mirrorOf = <T>(machine: string, read: (db: Database) => T): T | undefined => {
    const dataDir = join(folderOf(machine), project);
    return existsSync(join(dataDir, 'copy.json')) && existsSync(join(dataDir, 'mirror.db'))
      ? reading(dataDir, read)
      : undefined;
  };
  const serviceRows = (): string[] =>
    [...sandbox.living()].map(({ uuid, distinct_ids: ids }) => [uuid, ...ids.toSorted()].join(' ')).toSorted();
  /** Whether the mirror of a machine has the persons of the service, and every request has ended. */
  const isDone = (machine: string): boolean => {
    try {
      const found = mirrorOf(machine, (db) => ({ rows: mirroredRows(db), open: listRequests(db, 'open').length }));
      return found !== undefined && found.open === 0 && found.rows.join() === serviceRows().join();
    } catch {
      // It comes or goes at this moment.
      return false;
    }
  };
  await succeed('desk', 'sync');
  /** The checkpoint of the ledger that was there last. */
  let kept: string | undefined;
  const subjects: Subject[] = [];
  const left: Subject[] = [];
  sandbox.clearRequests();

  /** Somebody asks to be erased, another person leaves the service, and one comes. */
  const ask = async (machine = 'desk', ways: Ways = {}): Promise<void> => {
    const [wanted, gone] = [...sandbox.living()].slice(5);
    if (!wanted || !gone) throw new Error('nobody is left');
    const flags = ['--basis', 'objection', '--by', 'the-test', '--keep-events'];
    const ended = await on(machine, ['erase', 'add', '--uuid', wanted.uuid, ...flags, '--wait', '--json'], ways);
    expect([ended.code, ended.code === 0 ? '' : ended.stderr.slice(-1500)]).toEqual([0, '']);
    const added = jsonOf(ended) as { requests: { id: string }[] };
    subjects.push({ request: added.requests[0]?.id ?? '', ...who(wanted) });
    // The program makes a request of its own for a person who left.
    left.push({ request: '', ...who(gone) });
    sandbox.act({ do: 'delete', uuid: gone.uuid });
    sandbox.act({ do: 'create', distinct_ids: [`came-${subjects.length}`] });
  };

  /** Fails where the bucket, its versions, or a machine that lives has not what it has to have. No worker may run. */
  const assertWhole = async (machines: readonly string[]): Promise<void> => {
    const dataDir = freshFolder();
    const id = sharedProject(project, { ...service, movedFrom: null }).id;
    const everything = (await store.everything()).filter(({ key }) => key.includes(`/${id}/`));
    for (const { key, bytes, isLatest } of everything) {
      expect([key, isLatest]).toEqual([key, true]);
      const [, path] = /\/published\/(.*)$/.exec(key) ?? [];
      if (path === undefined) continue;
      mkdirSync(dirname(join(dataDir, 'snapshots', path)), { recursive: true });
      writeFileSync(join(dataDir, 'snapshots', path), bytes);
    }
    const states = everything.filter(({ key }) => key.includes('/state/'));
    expect(states.map(({ key }) => key.replace(/.*\//, '')).toSorted()).toEqual(['keys', 'project']);
    for (const { key, bytes } of states.toReversed()) {
      const [from, clear] = [join(folder, 'sealed'), join(folder, 'clear')];
      writeFileSync(from, bytes);
      const [, location, name] = /^(.*)\/state\/(\w+)$/.exec(key) ?? [];
      await openSealed({ from, clear }, { key: clusterKey, about: `s3://state/${location} ${name}` }, (content) =>
        unpackFiles(content, dataDir),
      ).finally(() => rmSync(clear, { force: true }));
    }
    const db = openDatabaseReadOnly(dataDir);
    try {
      expect(contradictionsIn(db).filter((what) => !tolerated.test(what))).toEqual([]);
      expect(await findFencedIdentifiers(db)).toEqual([]);
      expect(mirroredRows(db)).toEqual(serviceRows());
      const counted = listRequests(db, 'all').filter((request) => !isMadeAnew(request));
      expect(counted.map(({ state }) => state)).toEqual([...subjects, ...left].map(() => 'sealed'));
    } finally {
      db.close();
    }
    const { problems } = await verifyDataFolder(
      dataDir,
      kept === undefined ? {} : { checkpoint: kept },
      new AbortController().signal,
    );
    expect(problems).toEqual([]);
    expect(await residueOf(dataDir, [...subjects, ...left])).toEqual([]);
    for (const machine of machines) {
      expect(mirrorOf(machine, () => true)).toBeUndefined();
      if (existsSync(folderOf(machine))) expect(await residueOf(folderOf(machine), [...subjects, ...left])).toEqual([]);
    }
    const asked = sandbox.requests().filter(({ endpoint }) => endpoint === 'persons.delete').length;
    expect(asked).toBeGreaterThanOrEqual(subjects.length);
    expect(asked).toBeLessThanOrEqual(subjects.length + unknownDeletions(dataDir));
    const folderOfLedger = ledgerFolder(dataDir);
    kept = readCheckpointFile(folderOfLedger, Math.max(...listCheckpointSizes(folderOfLedger)));
  };

  /** The copies that machines have, or may have. */
  const copies = (): Promise<unknown[]> =>
    run(address, 'SELECT machine, project FROM analytics_mirror.copies ORDER BY 1');

  return { ...workers, sandbox, on, succeed, copies, mirrorOf, isDone, ask, assertWhole };
}

function who({ uuid, distinct_ids: ids, properties }: LivingPerson): Omit<Subject, 'request'> {
  return { uuids: [uuid], texts: [...ids, ...emailsIn(properties)], recordings: [] };
}

function mirroredRows(db: Database): string[] {
  return db
    .prepare<[], { uuid: string; ids: string }>(`SELECT uuid, distinct_ids AS ids FROM persons`)
    .all()
    .map(({ uuid, ids }) => [uuid, ...(JSON.parse(ids) as string[]).toSorted()].join(' '))
    .toSorted();
}

/** How often a machine took over while nobody could know whether the service had taken a deletion. */
function unknownDeletions(dataDir: string): number {
  const pending = new Set<string>();
  let unknown = 0;
  for (const entry of readLedger(dataDir).entries()) {
    if (entry.type === 'taken_over') unknown += pending.size;
    if ((entry.type !== 'intent' && entry.type !== 'result') || entry.target !== 'upstream.person') continue;
    for (const request of entry.requests)
      if (entry.type === 'intent') pending.add(request);
      else pending.delete(request);
  }
  return unknown;
}
