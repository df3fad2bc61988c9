import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readRoster } from '../../src/cluster/roster.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { openProjectState } from '../../src/cluster/project-state.ts';
import { mostInSpan } from '../client/most-in-span.ts';
import { shareOut } from '../cli/share-out.ts';
import { noJobs, openWorkers } from './cluster-workers.ts';
import { openManyServices } from './many-services.ts';
import { machineOf } from './store-world.ts';

const projectsCount = 200;
/** In each of so many projects a person is erased while machines die. */
const erasedCount = 12;
const window = { requests: 400, perSeconds: 10 };
const lanes = [1, 2];

const Requests = z.object({ requests: z.array(z.object({ id: z.string(), state: z.string() })) });

test('two hundred projects on four workers, one killed, one stopped and continued', async () => {
  const { origin, apiKey, sandboxes, arrivals } = await openManyServices(projectsCount);
  const projects = sandboxes.map((_sandbox, index) => ({
    name: `p${index + 1}`,
    service: { baseUrl: origin, projectId: String(index + 1) },
  }));
  const { worker, on, until, store, folderOf, database } = await openWorkers({
    projects,
    apiKey,
    settings: {
      schedule: { ...noJobs, full: '0 */3 * * * *', export: '20 */6 * * * *', reconcile: '40 * * * * *' },
      budget: { windows: [window], recordings: { windows: [] } },
      deletions: { confirmAfterSeconds: 0 },
    },
  });
  const machines = ['one', 'two', 'three', 'four'];
  const running = machines.map((machine) => worker(machine));
  const [one, two, three, four] = running;
  if (!one || !two || !three || !four) throw new Error('there are four workers');
  const heldBy = (held: Record<string, string | null>, machine: string): number =>
    Object.values(held).filter((holder) => holder === machine).length;
  const shared = await until(
    'shared',
    (_roster, held) =>
      Object.keys(held).length === projectsCount &&
      machines.every((machine) => heldBy(held, machine) === projectsCount / machines.length),
    600_000,
  );
  /** Waits until each project was walked to the end since a time. */
  const walked = (sinceMs: number): Promise<number> =>
    until(
      'walked',
      () =>
        sandboxes.every((sandbox) =>
          sandbox
            .requests()
            .some(({ endpoint, status, atMs }) => endpoint === 'persons.list' && status === 200 && atMs > sinceMs),
        ),
      900_000,
    );
  await walked(0);

  const entries = /\/ledger\/\d+\.jsonl$/;
  const before = (await store.everything(entries)).map(({ key, bytes }) => [key, bytes.toString()] as const);
  expect(before.length).toBeGreaterThan(0);
  const erased = sandboxes.slice(0, erasedCount).map((sandbox, index) => {
    const [person] = [...sandbox.living()];
    if (!person) throw new Error('nobody lives there');
    return { name: `p${index + 1}`, sandbox, person, checkpoint: '', id: '' };
  });
  await shareOut(lanes, erased, async (lane, one) => {
    const ops = `ops${lane}`;
    const kept = await on(ops, ['audit', 'checkpoint', '--project', one.name, '--wait']);
    expect([kept.code, kept.code === 0 ? '' : kept.stderr]).toEqual([0, '']);
    one.checkpoint = kept.stdout;
    const add = [
      'erase',
      'add',
      '--uuid',
      one.person.uuid,
      '--basis',
      'objection',
      '--by',
      'the-test',
      '--keep-events',
    ];
    const added = await on(ops, [...add, '--project', one.name, '--wait', '--json']);
    expect([added.code, added.code === 0 ? '' : added.stdout]).toEqual([0, '']);
    one.id = Requests.parse(JSON.parse(added.stdout)).requests[0]?.id ?? '';
  });
  // The requests are carried out at the next look: two machines fall out in the middle of it.
  await until('a deletion', () =>
    sandboxes.some((sandbox) => sandbox.requests().some(({ endpoint }) => endpoint === 'persons.delete')),
  );
  two.child.kill('SIGKILL');
  three.child.kill('SIGSTOP');
  const stoppedMs = Date.now();
  const [ofKilled, ofStopped] = await Promise.all([
    until('none with the killed', (_roster, held) => heldBy(held, 'two') === 0),
    until('none with the stopped', (_roster, held) => heldBy(held, 'three') === 0),
  ]);
  await until('taken over', (_roster, held) => heldBy(held, 'one') + heldBy(held, 'four') === projectsCount, 600_000);
  const takenAfter = (Date.now() - stoppedMs) / 1000;
  expect(takenAfter).toBeLessThan(180);
  await delay(Math.max(0, stoppedMs + 60_000 - Date.now()));
  three.child.kill('SIGCONT');
  // The killed one is started again: what it had goes.
  running[1] = worker('two');
  const back = await until(
    'shared again',
    (_roster, held) => machines.every((machine) => heldBy(held, machine) === projectsCount / machines.length),
    600_000,
  );
  for (const sandbox of sandboxes) sandbox.act({ do: 'create', distinct_ids: ['newcomer'] });
  const newMs = Date.now();
  const open = new Set(erased);
  await until(
    'erased',
    async () => {
      for (const each of open) {
        const { code, stdout } = await on('ops1', [
          'erase',
          'list',
          '--all',
          '--project',
          each.name,
          '--wait',
          '--json',
        ]);
        const { requests } = Requests.parse(JSON.parse(stdout));
        expect([code, requests.length]).toEqual([0, 1]);
        if (requests.some(({ state }) => /certified|sealed/.test(state))) open.delete(each);
        else break;
      }
      return open.size === 0;
    },
    900_000,
  );
  await walked(newMs);
  for (const { child } of running) child.kill('SIGTERM');
  for (const { ended } of running) expect(await ended).toMatchObject({ code: 0 });

  process.stdout.write(
    `${projectsCount} projects shared after ${shared.toFixed(0)} s; no project with the killed machine ${ofKilled.toFixed(0)} s ` +
      `after the kill, none with the stopped one after ${ofStopped.toFixed(0)} s, all with two after ${takenAfter.toFixed(0)} s, ` +
      `shared by four again after ${back.toFixed(0)} s; ${arrivals.length} requests, at most ${mostInSpan(arrivals, window)} of ` +
      `${window.requests} in ${window.perSeconds} s\n`,
  );

  // Over all machines, the key was within its limit.
  expect(mostInSpan(arrivals, window)).toBeLessThanOrEqual(window.requests);
  // Nobody's deletion was asked for twice.
  for (const { name, sandbox } of erased) {
    const deletions = sandbox.requests().filter(({ endpoint }) => endpoint === 'persons.delete');
    expect([name, deletions.length]).toEqual([name, 1]);
  }
  // No machine has a copy, and what they have left names nobody who was erased.
  for (const machine of machines)
    for (const file of readdirSync(folderOf(machine), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )) {
      expect([machine, file.name === 'mirror.db']).toEqual([machine, false]);
      const bytes = readFileSync(join(file.parentPath, file.name));
      for (const { person } of erased) expect([file.name, bytes.includes(person.uuid)]).toEqual([file.name, false]);
    }
  const everything = await store.everything();
  // The feed of deletions has the keys of people who were erased, so that others can delete them too.
  for (const { key, bytes } of everything.filter((object) => !object.key.includes('/published/deletions/')))
    for (const { person } of erased) expect([key, bytes.includes(person.uuid)]).toEqual([key, false]);
  // Each ledger goes on from what it was.
  const after = new Map(everything.map(({ key, bytes }) => [key, bytes.toString()]));
  for (const [key, text] of before) expect([key, after.get(key)]).toEqual([key, text]);
  // Each mirror is what its service is.
  const ids = new Map((await readRoster(database)).projects.map(({ id, name }) => [name, id]));
  for (const [index, sandbox] of sandboxes.entries()) {
    const project = projects[index];
    if (!project) continue;
    const id = ids.get(project.name) ?? '';
    expect([project.name, everything.filter(({ key }) => key.startsWith(`cluster/${id}/state/`)).length]).toEqual([
      project.name,
      2,
    ]);
    const machine = machineOf({ place: { ...store.place, location: `s3://state/cluster/${id}` } }, 'auditor');
    const state = await openProjectState(machine);
    state.checked(openLedger(machine.dataDir, systemClock, [], state.store));
    const checkpoint = erased.find(({ name }) => name === project.name)?.checkpoint;
    const verdict = verifyLedger({ folder: join(machine.dataDir, 'ledger'), checkpoint });
    expect([project.name, verdict.problems]).toEqual([project.name, []]);
    const db = openDatabase(machine.dataDir, systemClock);
    const mirrored = db
      .prepare<[], { uuid: string; ids: string }>(/*sql*/ `SELECT uuid, distinct_ids AS ids FROM persons ORDER BY uuid`)
      .all();
    const living = [...sandbox.living()].map(({ uuid, distinct_ids }) => ({ uuid, ids: JSON.stringify(distinct_ids) }));
    expect([project.name, mirrored]).toEqual([project.name, living.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))]);
    db.close();
    await state.close();
  }
}, 2_400_000);
