import { copyFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nextBatchAfter } from '../../src/contract/weekly-batch.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { digestsWithout } from './published-rows.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

/** How large the project is, and how long making it may take. */
type Size = { persons: number; recordings: number; erased: number; timeoutMs: number };

type Living = { uuid: string; id: number; distinct_ids: string[] };

const settings = [
  ...unlimited,
  ...['deletions.confirmAfterSeconds=0', 'deletions.collectHours=0'].flatMap((each) => ['--set', each]),
  '--log-level',
  'warn',
];
const shiftedClock = new URL('shifted-clock-child.ts', import.meta.url).href;

/**
 * The life of a batch of erasures, told by the command line alone: three exports of a service that changes, the requests,
 * the plan and what it does, people who come back, a restored backup, and the service's weekly batch.
 */
export function testErasures({ persons, recordings, erased, timeoutMs }: Size): void {
  let workspace: Workspace;
  /** Who is to be erased, and whatever only they are called. */
  let people: Living[];
  let names: Set<string>;
  let peopleFile: string;
  let othersBefore: Record<string, string>;
  let aheadMs = 0;

  const run = (...args: string[]): Promise<Ended> =>
    workspace.run([...args, ...settings], {
      timeoutMs,
      env: { NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_AHEAD_MS: String(aheadMs) },
    });
  const succeed = async (...args: string[]): Promise<Ended> => {
    const ended = await run(...args);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    return ended;
  };
  const scan = async (): Promise<Scan> => jsonOf(await run('erase', 'scan', '--file', peopleFile, '--json')) as Scan;
  /** How many of the requests that somebody has made are in each state. */
  const statesOf = async (): Promise<object> => {
    const sql = `SELECT state, count(*) FROM erasure_requests WHERE origin <> 'upstream' GROUP BY 1`;
    const { rows } = jsonOf(await succeed('query', '--json', sql)) as { rows: [string, number][] };
    return Object.fromEntries(rows);
  };

  beforeAll(async () => {
    workspace = await openWorkspace({ persons, recordings, seed: 5 });
    peopleFile = join(workspace.folder, 'people.csv');
    await publishThrice(workspace, succeed);
    // Evenly spread over the ids; each named in another way.
    const living = [...workspace.sandbox.living()];
    const step = Math.floor(living.length / erased);
    people = Array.from({ length: erased }, (_, index) => living[index * step + 3]).filter(
      (person) => person !== undefined,
    );
    names = new Set(people.flatMap(({ uuid, distinct_ids: ids }) => [uuid, ...ids]));
    writeFileSync(peopleFile, people.map(nameOf).join(''));
    copyFileSync(databasePath(workspace.dataDir), join(workspace.folder, 'yesterday.db'));
  }, timeoutMs);
  afterAll(() => workspace[Symbol.asyncDispose]());

  it('requests are received and found, nobody is erased yet', async () => {
    const added = jsonOf(
      await succeed(
        'erase',
        'add',
        '--file',
        peopleFile,
        '--basis',
        'consent_withdrawn',
        '--by',
        'TICKET-812',
        '--json',
      ),
    ) as { requests: { line: number; state: string; persons: number; files: number }[] };
    expect(added.requests).toHaveLength(erased);
    expect(new Set(added.requests.map(({ state }) => state))).toEqual(new Set(['scoped']));
    expect(added.requests.every((request) => request.persons === 1 && request.files >= 6)).toBe(true);
    const { digests, left } = await digestsWithout(workspace.dataDir, names);
    expect(left).toBeGreaterThan(erased * 7);
    othersBefore = digests;
  });

  it('the scan finds each of them before', async () => {
    const { subjects } = await scan();
    expect(subjects).toHaveLength(erased);
    expect(subjects.filter(({ hits }) => hits === 0)).toEqual([]);
  });

  it('the plan of a dry run is the plan that is carried out', async () => {
    const { plan } = jsonOf(await succeed('reconcile', '--dry-run', '--json')) as { plan: object };
    expect(plan).toMatchObject({ erasure: { requests: { length: erased } } });
    expect(await statesOf()).toEqual({ scoped: erased });
    const done = jsonOf(await succeed('reconcile', '--json')) as { plan: object; erasure: object };
    expect(done.plan).toEqual(plan);
    expect(done.erasure).toMatchObject({ fenced: erased, verified: erased, residue: 0, attention: 0, certified: 0 });
  });

  it('nothing of them is left, decoded or raw, and all others are as they were', async () => {
    const { subjects, fenced, unreadable, encodings } = await scan();
    // The open requests by all their values, and each line of the file.
    expect(subjects).toHaveLength(2 * erased);
    expect(subjects.filter(({ hits }) => hits > 0)).toEqual([]);
    expect({ fenced, unreadable }).toEqual({ fenced: [], unreadable: [] });
    expect(encodings).toEqual(['utf-8', 'json', 'percent', 'base64', 'hex', 'latin-1', 'utf-16']);
    expect(await digestsWithout(workspace.dataDir, names)).toEqual({ digests: othersBefore, left: 0 });
    expect(await statesOf()).toEqual({ awaiting_upstream: erased });
    const living = new Set([...workspace.sandbox.living()].map(({ uuid }) => uuid));
    expect(people.filter(({ uuid }) => living.has(uuid))).toEqual([]);
    expect(
      workspace.sandbox.requests().filter(({ endpoint, status }) => endpoint === 'persons.delete' && status === 204),
    ).toHaveLength(erased);
  });

  it('who comes back at the service stays out of the mirror, and is counted', async () => {
    const [first, second] = people;
    if (!first || !second) throw new Error('too few people');
    for (const { uuid } of [first, second]) workspace.sandbox.act({ do: 'resurrect', uuid });
    const synced = jsonOf(await succeed('sync', 'persons', '--json')) as { passes: { rowsFenced: number }[] };
    expect(synced.passes).toMatchObject([{ verdict: 'complete', rowsFenced: 2 }]);
    const { rows } = jsonOf(await succeed('query', '--json', 'SELECT sum(hits), sum(recreated) FROM fence')) as {
      rows: unknown[][];
    };
    expect(rows).toEqual([[2, 2]]);
    await succeed('export', 'persons');
    expect((await digestsWithout(workspace.dataDir, names)).left).toBe(0);
    for (const { uuid } of [first, second]) workspace.sandbox.act({ do: 'delete', uuid });
  });

  it("the service's Sunday batch has run: certified, sealed, and the identifiers are gone", async () => {
    const afterBatchMs = nextBatchAfter(Date.now()) + 25 * 3_600_000;
    aheadMs = afterBatchMs - Date.now();
    workspace.sandbox.clock.moveTo(afterBatchMs);
    const { erasure } = jsonOf(await succeed('reconcile', '--json')) as { erasure: object };
    expect(erasure).toMatchObject({ certified: erased, sealed: erased, attention: 0, waiting: 0 });
    expect(await statesOf()).toEqual({ sealed: erased });
    const { rows } = jsonOf(
      await succeed(
        'query',
        '--json',
        'SELECT count(*) FROM erasure_requests WHERE box IS NOT NULL OR authorised_by IS NOT NULL',
      ),
    ) as { rows: unknown[][] };
    expect(rows).toEqual([[0]]);
    expect(verifyLedger({ folder: ledgerFolder(workspace.dataDir) }).problems).toEqual([]);
  });

  it('only the owner can enter or read what was written, the keys first of all', () => {
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    const entries = readdirSync(workspace.dataDir, { recursive: true, withFileTypes: true });
    const open = entries.filter((entry) => {
      const path = join(entry.parentPath, entry.name);
      if (entry.isDirectory()) return modeOf(path) !== '700';
      return !path.endsWith('.parquet') && modeOf(path) !== '600';
    });
    expect(open.map(({ name }) => name)).toEqual([]);
    expect(modeOf(workspace.dataDir)).toBe('700');
    const keys = readdirSync(join(workspace.dataDir, 'keys'));
    expect(keys).toEqual(expect.arrayContaining(['box.key', 'fence.key']));
  });

  it("yesterday's mirror.db is refused until reconcile has erased anew whom it brings back", async () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${databasePath(workspace.dataDir)}${suffix}`, { force: true });
    copyFileSync(join(workspace.folder, 'yesterday.db'), databasePath(workspace.dataDir));
    for (const command of ['sync', 'export'])
      expect(await run(command)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^error: mirror\.db is an older copy: [^\n]+\n {2}run `analytics-mirror reconcile` first: [^\n]+\n$/,
        ),
      });
    const ended = await run('reconcile', '--json');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(jsonOf(ended)).toMatchObject({ replayed: { requests: erased } });
    expect((await digestsWithout(workspace.dataDir, names)).left).toBe(0);
    await succeed('sync');
    await succeed('export');
    const { subjects, fenced } = await scan();
    expect(subjects.every(({ hits }) => hits === 0)).toBe(true);
    expect(fenced).toEqual([]);
    expect(verifyLedger({ folder: ledgerFolder(workspace.dataDir) }).problems).toEqual([]);
  });
}

type Scan = { subjects: { hits: number }[]; fenced: unknown[]; unreadable: unknown[]; encodings: string[] };

/** A line of the file of people: by uuid, id and distinct id in turn. */
function nameOf({ uuid, id, distinct_ids: [first = ''] }: Living, index: number): string {
  return [`uuid,${uuid}\n`, `id,${id}\n`, `distinct_id,"${first.replaceAll('"', '""')}"\n`][index % 3] ?? '';
}

/** Three generations of published files, with merges, deletions, splits, newcomers and changes between them. */
async function publishThrice({ sandbox }: Workspace, succeed: (...args: string[]) => Promise<Ended>): Promise<void> {
  for (let generation = 1; generation <= 3; generation += 1) {
    await succeed('sync');
    await succeed('reconcile');
    await succeed('export', '--set', 'export.partRows=500');
    if (generation === 3) return;
    const persons = [...sandbox.living()];
    const uuidAt = (share: number): string => persons[Math.floor(persons.length * share)]?.uuid ?? '';
    sandbox.act({ do: 'merge', loser: uuidAt(0.111 * generation), survivor: uuidAt(0.613) });
    sandbox.act({ do: 'delete', uuid: uuidAt(0.217 * generation) });
    const several = persons.findLast(({ distinct_ids: ids }) => ids.length > 2);
    if (several) sandbox.act({ do: 'split', uuid: several.uuid });
    sandbox.act({ do: 'create', distinct_ids: [`newcomer ${generation}`], properties: { generation } });
    for (const { id } of persons.slice(0, 40))
      sandbox.store.persons.mergeProperties(id, { generation }, { userId: 1, atMs: 0 });
  }
}
