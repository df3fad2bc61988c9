import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StateSetup } from '../../src/cluster/project-state.ts';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { startRun } from '../../src/mirror/runs.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { openLateLists } from './late-lists.ts';
import { hold, machineOf, openStoreWorld, remember, remembered, type Machine, type StoreWorld } from './store-world.ts';

const drill = (steps: number) => ({ type: 'drill', outcome: 'passed', steps, report: 'a'.repeat(64) }) as const;
const busy = { code: 'busy' };

describe('the state of a project in a bucket', () => {
  it('is taken over by another machine as it was given up, and is nowhere in clear', async () => {
    const world = await openStoreWorld();
    const first = machineOf(world, 'one');
    const a = await hold(first);
    remember(a, 'jane.doe@example.com');
    a.ledger().append([drill(3)]);
    const { text } = a.ledger().checkpoint();
    await a.state.commit(a.db);
    await a.close();
    await a.state.discard();
    expect(existsSync(join(first.dataDir, 'mirror.db'))).toBe(false);
    expect(existsSync(join(first.dataDir, 'copy.json'))).toBe(false);

    const second = machineOf(world, 'two');
    const b = await hold(second);
    expect(remembered(b)).toEqual(['jane.doe@example.com']);
    expect(wordsOf(second)).toEqual(['one', 'drill', 'two', 'copy_gone']);
    // An auditor needs no run in between.
    expect(b.ledger().signed()).toBe(4);
    const origin = (checkpoint: string): string | undefined => checkpoint.split('\n')[0];
    // The key that signs is the same one.
    expect(origin(b.ledger().checkpoint().text)).toBe(origin(text));
    for (const { bytes } of await world.everything()) expect(bytes.includes('jane.doe')).toBe(false);
    expect(await versionsBelow(world, 'state/')).toHaveLength(2);
  });

  it('refuses a machine that was stopped and goes on: entries, keys, commit', async () => {
    const world = await openStoreWorld();
    // Whatever else it learns, each of these is refused by itself.
    const stopped = machineOf(world, 'one', { lose: () => undefined });
    const a = await hold(stopped);
    remember(a, 'before');
    await a.state.commit(a.db);
    const opened = a.ledger();
    const b = await hold(machineOf(world, 'two'));
    remember(b, 'after');

    remember(a, 'stale');
    expect(() => opened.append([drill(1)])).toThrow(expect.objectContaining(busy));
    await expect(a.state.commit(a.db)).rejects.toMatchObject(busy);
    mkdirSync(join(stopped.dataDir, 'keys'), { recursive: true, mode: 0o700 });
    writeFileSync(join(stopped.dataDir, 'keys', 'mask.key'), `${'0'.repeat(64)}\n`, { mode: 0o600 });
    expect(() => a.state.store.keepKeys()).toThrow(expect.objectContaining(busy));
    // A new opening of the ledger there, too.
    expect(() => a.ledger()).toThrow(expect.objectContaining(busy));
    await a.close();

    b.ledger().append([drill(2)]);
    await b.state.commit(b.db);
    await b.close();
    // Its copy is stale: it starts from what the bucket has.
    const again = await hold(stopped);
    expect(remembered(again)).toEqual(['before', 'after']);
    expect(wordsOf(stopped)).toEqual(['one', 'two', 'drill', 'one', 'copy_gone']);
  });

  it('refuses a machine that has lost the project before it does anything', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    const opened = a.ledger();
    const before = (await world.everything()).length;
    machine.lose();
    expect(() => opened.append([drill(1)])).toThrow('lost');
    await expect(a.state.commit(a.db)).rejects.toThrow('lost');
    expect(opened.size()).toBe(1);
    expect(await world.everything()).toHaveLength(before);
  });

  it('knows whether a list has changed since the last commit: runs and passes alone are no reason for one', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    expect(a.state.isCommitted(a.db)).toBe(true);
    startRun(a.db, 'full', '2026-11-26T12:00:00.000Z');
    expect(a.state.isCommitted(a.db)).toBe(true);
    const change = `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'p', 'upsert', '2026-11-26T12:00:00.000Z')`;
    a.db.exec(change);
    expect(a.state.isCommitted(a.db)).toBe(false);
    await a.state.commit(a.db);
    expect(a.state.isCommitted(a.db)).toBe(true);
    await a.close();
    const again = await hold({ ...machine, holder: { machine: 'one', token: 2 } });
    expect(again.state.isCommitted(again.db)).toBe(true);
    again.db.exec(change);
    expect(again.state.isCommitted(again.db)).toBe(false);
  });

  it('uses a copy as it is after a restart, with what was not committed', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    remember(a, 'not committed');
    await a.close();
    const b = await hold({ ...machine, holder: { machine: 'one', token: 2 } });
    expect(remembered(b)).toEqual(['not committed']);
    expect(wordsOf(machine)).toEqual(['one']);
  });

  it('takes entries that are newer than the state: of a machine that died before it committed', async () => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    remember(a, 'committed');
    await a.state.commit(a.db);
    remember(a, 'lost with the machine');
    a.ledger().append([drill(1), drill(2)]);
    const { text } = a.ledger().checkpoint();
    await a.close();
    const second = machineOf(world, 'two');
    const b = await hold(second);
    expect(remembered(b)).toEqual(['committed']);
    expect(wordsOf(second)).toEqual(['one', 'drill', 'drill', 'two']);
    // What it signed with was there before.
    expect(b.ledger().checkpoint().text.split('\n')[0]).toBe(text.split('\n')[0]);
  });

  it('takes many such entries, more than are fetched at once, and leaves no drafts of them', async () => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    await a.state.commit(a.db);
    const ledger = a.ledger();
    const numbers = Array.from({ length: 60 }, (_, index) => index);
    for (const number of numbers) ledger.append([drill(number), drill(number)]);
    await a.close();
    const second = machineOf(world, 'two');
    await hold(second);
    const entries = [...readLedger(second.dataDir).entries()];
    expect(entries.flatMap((entry) => ('steps' in entry ? entry.steps : []))).toEqual(
      numbers.flatMap((number) => [number, number]),
    );
    expect(wordsOf(second).at(-1)).toBe('two');
    expect(readdirSync(join(second.dataDir, 'tmp'))).toEqual([]);
  });

  it('tells another key from damage, and gives the project up without a trace of it', async () => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    await a.close();
    const wrong = machineOf(world, 'two', { key: Buffer.alloc(32, 8) });
    await expect(hold(wrong)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/cluster\.key is not the key/) as string,
    });
    expect(existsSync(join(wrong.dataDir, 'mirror.db'))).toBe(false);
    const [object] = await versionsBelow(world, 'state/project');
    if (!object) throw new Error('no state');
    const bytes = Buffer.from(object.bytes);
    bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1;
    await world.client.send(
      new PutObjectCommand({ Bucket: 'state', Key: object.key, Body: bytes, Metadata: { publisher: 'one/x' } }),
    );
    await expect(hold(machineOf(world, 'two'))).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringMatching(/damaged/) as string,
    });
    // Sealed for another project, it does not open either.
    await world.client.send(
      new PutObjectCommand({ Bucket: 'state', Key: 'cluster/other/state/project', Body: object.bytes }),
    );
    const place = { ...world.place, location: 's3://state/cluster/other' };
    await expect(hold(machineOf({ place }, 'two'))).rejects.toMatchObject({ code: 'storage' });
  });

  it('refuses a folder that holds a project of its own, and one of another place, and leaves both', async () => {
    const world = await openStoreWorld();
    const { dataDir, db } = openTestMirror();
    db.exec('CREATE TABLE own (x)');
    await expect(hold(machineOf(world, 'one', { dataDir }))).rejects.toMatchObject({
      code: 'usage',
      hint: expect.stringMatching(/cluster import/) as string,
    });
    const machine = machineOf(world, 'one');
    await (await hold(machine)).close();
    const place = { ...world.place, location: 's3://state/cluster/other' };
    await expect(hold({ ...machine, place })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/is a copy of/) as string,
    });
    expect(existsSync(join(machine.dataDir, 'mirror.db'))).toBe(true);
  });

  it('refuses a ledger in the bucket from which an entry was taken', async () => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    a.ledger().append([drill(1)]);
    a.ledger().append([drill(2)]);
    await a.close();
    const gone = (await versionsBelow(world, 'ledger/')).find(({ key }) => key.endsWith('000000000001.jsonl'));
    await world.client.send(new DeleteObjectCommand({ Bucket: 'state', Key: gone?.key ?? '' }));
    await expect(hold(machineOf(world, 'two'))).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringMatching(/entry 1 is not in the bucket/) as string,
    });
  });

  it.each<[string, (bytes: string, other: string) => string]>([
    ['without a mark', (bytes) => bytes.replace(/mark .*\n/, '')],
    ['with one byte changed', (bytes) => bytes.replace('"steps":2', '"steps":3')],
    ['with the mark of another append', (bytes, other) => bytes.replace(/mark .*/, /mark .*/.exec(other)?.[0] ?? '')],
    ['that is another append of this ledger', (_bytes, other) => other],
    ['that only has a mark', (bytes) => bytes.replace(/^.*\n/, '')],
  ])('takes and signs no append %s: whoever can write to the bucket makes no entry', async (_what, forge) => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    a.ledger().append([drill(1)]);
    a.ledger().append([drill(2)]);
    await a.close();
    const [, other, last] = await versionsBelow(world, 'ledger/');
    const forged = forge(last?.bytes.toString() ?? '', other?.bytes.toString() ?? '');
    await world.client.send(new PutObjectCommand({ Bucket: 'state', Key: last?.key ?? '', Body: forged }));
    const second = machineOf(world, 'two');
    await expect(hold(second)).rejects.toMatchObject({ code: 'storage', finding: 'foreign_entries' });
    expect(wordsOf(second)).toEqual(['one', 'drill']);
  });

  it('takes no append of another project, or of the same number in another history', async () => {
    const world = await openStoreWorld();
    const a = await hold(machineOf(world, 'one'));
    a.ledger().append([drill(1)]);
    a.ledger().append([drill(2)]);
    const elsewhere = { ...world.place, location: 's3://state/cluster/other' };
    const b = await hold(machineOf(world, 'one', { place: elsewhere }));
    b.ledger().append([drill(3)]);
    await a.close();
    await b.close();
    const foreign = (await world.everything(/other\/ledger/)).at(-1)?.bytes ?? '';
    // What is newer than the state is read from there.
    for (const seq of [1, 2]) {
      const key = `cluster/one/ledger/${String(seq).padStart(12, '0')}.jsonl`;
      const kept = (await world.everything(/one\/ledger/)).find((each) => each.key === key && each.isLatest);
      await world.client.send(new PutObjectCommand({ Bucket: 'state', Key: key, Body: foreign }));
      await expect(hold(machineOf(world, 'two'))).rejects.toMatchObject({ finding: 'foreign_entries' });
      await world.client.send(new PutObjectCommand({ Bucket: 'state', Key: key, Body: kept?.bytes ?? '' }));
    }
  });

  it('goes on behind an entry whose end stayed unclear, and appends nothing before', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    const opened = a.ledger();
    // As if its answer had been lost: it stands there, and this ledger does not know.
    const elsewhere = a.ledger();
    elsewhere.append([drill(1)]);
    const path = entriesPath(ledgerFolder(machine.dataDir));
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, `${lines[0]}\n`);
    expect(() => opened.append([drill(2)])).toThrow(expect.objectContaining({ code: 'unreachable' }));
    expect(opened.size()).toBe(1);
    a.ledger().append([drill(3)]);
    expect(
      [...readLedger(machine.dataDir).entries()].flatMap((entry) => ('steps' in entry ? entry.steps : [])),
    ).toEqual([1, 3]);
  });

  it('appends nothing where the store does not answer, and goes on when it does', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    const opened = a.ledger();
    onTestFinished(() => void kill(world.pid, 'SIGCONT'));
    kill(world.pid, 'SIGSTOP');
    // A signal is on its way when `kill` returns: threads that were not stopped yet answered one append.
    await vi.waitUntil(() => isStopped(world.pid), { timeout: 10_000 });
    expect(() => opened.append([drill(1)])).toThrow(expect.objectContaining({ code: 'unreachable' }));
    expect(opened.size()).toBe(1);
    kill(world.pid, 'SIGCONT');
    const later = a.ledger();
    later.append([drill(2)]);
    expect(later.size()).toBeGreaterThanOrEqual(2);
  });

  it('does not take a list of an earlier moment for one that shows the new state alone', async () => {
    const world = await openStoreWorld();
    const { endpoint, setLate } = await openLateLists(world.place.endpoint ?? '');
    const a = await hold(machineOf({ place: { ...world.place, endpoint } }, 'one'));
    const states = async () => (await world.everything(/state\/project$/)).length;
    remember(a, 'ann');
    await a.state.commit(a.db);
    setLate(true);
    await expect(a.state.commit(a.db)).rejects.toMatchObject({ code: 'service', retryable: true });
    expect(await states()).toBe(2);
    setLate(false);
    await a.state.commit(a.db);
    expect(await states()).toBe(1);
  });

  it('puts the state over an older one in the bucket', async () => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    const [older] = await versionsBelow(world, 'state/project');
    remember(a, 'newer');
    await a.state.commit(a.db);
    await world.client.send(
      new PutObjectCommand({
        Bucket: 'state',
        Key: older?.key ?? '',
        Body: older?.bytes ?? '',
        Metadata: { publisher: 'one/older' },
      }),
    );
    await a.state.commit(a.db);
    await a.close();
    expect(remembered(await hold(machineOf(world, 'two')))).toEqual(['newer']);
  });

  it.each([
    ['while the copy is fetched', (copy: Record<string, unknown>) => ({ ...copy, isWhole: false })],
    [
      'after a commit, before it is noted',
      (copy: Record<string, unknown>) => ({ ...copy, commits: ['one/older', ...(copy['commits'] as string[])] }),
    ],
  ])('goes on after a kill %s', async (_when, change) => {
    const world = await openStoreWorld();
    const machine = machineOf(world, 'one');
    const a = await hold(machine);
    remember(a, 'committed');
    await a.state.commit(a.db);
    await a.close();
    const path = join(machine.dataDir, 'copy.json');
    writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)));
    rmSync(join(machine.dataDir, 'tmp'), { recursive: true, force: true });
    expect(remembered(await hold(machine))).toEqual(['committed']);
  });

  it('dates nothing by the clock of the machine: one that is an hour wrong is told so', async () => {
    const world = await openStoreWorld();
    const clock: StateSetup['clock'] = { now: () => Date.now() + 3_600_000, sleep: () => Promise.resolve() };
    await expect(hold(machineOf(world, 'one', { clock }))).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringMatching(/clock/) as string,
    });
  });
});

/** The machines that took over, and the types of the other entries, in order. */
function wordsOf({ dataDir }: Machine): string[] {
  return [...readLedger(dataDir).entries()].map((entry) => ('machine' in entry ? entry.machine : entry.type));
}

async function versionsBelow(world: StoreWorld, folder: string): Promise<{ key: string; bytes: Buffer }[]> {
  return (await world.everything()).filter(({ key }) => key.startsWith(`cluster/one/${folder}`));
}

/** Whether every thread of this process is stopped, by what the kernel says of each. */
function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) =>
    /^State:\tT/m.test(readFileSync(join(threads, thread, 'status'), 'utf8')),
  );
}
