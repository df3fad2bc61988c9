import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openWorkspace } from '../cli/workspace.ts';
import { run } from './cluster-world.ts';
import { openMachines } from './open-machines.ts';
import { openStoreWorld } from './store-world.ts';

/** A project whose machine `one` was killed: its copy, with everybody, lies on its disk. */
async function openLeftCopy() {
  const world = await openStoreWorld();
  const workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const machines = await openMachines(workspace, world);
  const { on, startOn, folderOf, address } = machines;
  await on('one', ['sync']);
  const people = await on('one', ['query', 'SELECT uuid FROM persons LIMIT 1']);
  const [[uuid]] = z.object({ rows: z.tuple([z.tuple([z.string()])]) }).parse(people.json).rows;
  const dying = startOn('one', ['sync']);
  const note = join(folderOf('one'), 'copy.json');
  const isWhole = (): boolean => existsSync(note) && readFileSync(note, 'utf8').includes('"isWhole": true');
  while (!isWhole()) {
    expect(dying.child.exitCode).toBe(null);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  dying.child.kill('SIGKILL');
  await dying.ended;
  const loseDatabase = (): Promise<unknown> => run(address, 'DROP SCHEMA analytics_mirror CASCADE');
  /** Erases the person on a machine, as far as it goes: what the last step ended with, and the result of `copies`. */
  const erase = async (machine: string, ended: 0 | 4) => {
    await on(machine, ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
    await on(machine, ['reconcile'], ended);
    return result(machine);
  };
  const result = async (machine: string) => {
    const { json } = await on(machine, ['erase', 'list', '--all']);
    return JSON.stringify(json);
  };
  const certificate = async (machine: string): Promise<string> => {
    const { json } = await on(machine, ['erase', 'list', '--all']);
    const [{ id }] = z.object({ requests: z.tuple([z.object({ id: z.string() })]) }).parse(json).requests;
    return JSON.stringify((await on(machine, ['audit', 'certificate', id])).json);
  };
  return {
    ...machines,
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
    loseDatabase,
    erase,
    result,
    certificate,
  };
}

const observed = /"assurance":"observed"[^{}]*"target":"copies"|"target":"copies"[^{}]*"assurance":"observed"/;
const notVerifiable =
  /"assurance":"not_verifiable"[^{}]*"target":"copies"|"target":"copies"[^{}]*"assurance":"not_verifiable"/;

describe('a copy that a killed machine has left', { timeout: 600_000 }, () => {
  it('keeps a request open also where the database is lost, until that machine has deleted it', async () => {
    await using cluster = await openLeftCopy();
    const { on, erase, result, certificate, loseDatabase, folderOf } = cluster;
    await loseDatabase();
    expect(await erase('two', 4)).toContain('copy_elsewhere');
    await loseDatabase();
    await on('two', ['reconcile'], 4);
    await on('one', ['sync']);
    expect(existsSync(join(folderOf('one'), 'mirror.db'))).toBe(false);
    await loseDatabase();
    await on('two', ['reconcile']);
    expect(await result('two')).toMatch(/"state":"(?:certified|sealed)"/);
    expect(await certificate('two')).toMatch(observed);
    await on('two', ['audit', 'verify']);
  });

  it('is not that of a new machine of the same name; who forgets it makes certificates say so', async () => {
    await using cluster = await openLeftCopy();
    const { on, erase, certificate, loseDatabase, folderOf } = cluster;
    await loseDatabase();
    renameSync(folderOf('one'), folderOf('aside'));
    await on('one', ['sync']);
    expect(await erase('one', 4)).toContain('copy_elsewhere');
    const { json } = await on('one', ['cluster', 'list']);
    const [{ copy }] = z
      .object({ copies: z.tuple([z.object({ copy: z.string(), machine: z.literal('one') })]) })
      .parse(json).copies;
    await on('two', ['cluster', 'forget', copy]);
    await on('two', ['reconcile']);
    expect(await certificate('two')).toMatch(notVerifiable);
    await on('two', ['audit', 'verify']);
  });
});
