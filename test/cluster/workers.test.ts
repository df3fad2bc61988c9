import { expect, onTestFinished, test } from 'vitest';
import type { ElsewhereReport } from '../../src/cluster/roster.ts';
import type { Check } from '../../src/status/check.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { noJobs, openWorkers, type Held, type Workers } from './cluster-workers.ts';

const projects = ['p0', 'p1', 'p2', 'p3'];

/** A cluster of real workers for four projects of one sandbox each, which are walked each second. */
async function openFour(): Promise<Workers> {
  const workspaces = [];
  for (const name of projects) {
    const workspace = await openWorkspace({ persons: 20, recordings: 2, hostile: false });
    onTestFinished(() => workspace[Symbol.asyncDispose]());
    workspaces.push({ name, sandbox: workspace.sandbox });
  }
  return openWorkers({
    projects: workspaces.map(({ name, sandbox }) => ({ name, service: { baseUrl: sandbox.url, projectId: '1' } })),
    apiKey: workspaces[0]?.sandbox.apiKey ?? '',
    settings: { schedule: { ...noJobs, full: '* * * * * *' } },
    flags: unlimited,
  });
}

test('workers share projects, give them to commands and newcomers, take over what a killed one held, and leave nothing behind', async () => {
  const { worker, on, until, copyOf } = await openFour();
  const one = worker('one');
  await until('held by one', (_roster, held) => projects.every((name) => held[name] === 'one'));
  // A newcomer gets its share; the copies go with it.
  const two = worker('two');
  const count = (held: Held, machine: string): number => projects.filter((name) => held[name] === machine).length;
  const shared = await until('shared', (_roster, held) => count(held, 'one') === 2 && count(held, 'two') === 2);
  // `status` elsewhere tells what the holder says, and leaves the project with it.
  await until('said', async () => {
    const { code, stdout } = await on('three', ['status', '--project', 'p1', '--json']);
    const { said, ...report } = JSON.parse(stdout) as ElsewhereReport;
    expect([code, report]).toMatchObject([0, { project: 'p1', holder: { purpose: 'worker' }, isPaused: false }]);
    return said?.jobs.some(({ job }) => job === 'full') === true;
  });
  expect((await on('three', ['status', '--project', 'p1'])).stdout).toMatch(
    /^p1 is held by (?:one|two) \(worker\) since .*\n.*\n(?:ATTENTION: .*\n {2}.*\n)*\nrun does/,
  );
  // Who only reads elsewhere is told where to, and the project stays where it is.
  const listedElsewhere = await on('three', ['erase', 'list', '--project', 'p1']);
  expect(listedElsewhere).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/(?:one|two) holds it \(worker\)\n.*that machine/),
  });
  expect(copyOf('three', 'p1')).toBe(false);
  // A command elsewhere works on a project that a worker holds, and the worker takes it back.
  const synced = await on('three', ['sync', '--project', 'p0', '--wait', '--json']);
  expect(synced).toMatchObject({ code: 0 });
  expect(copyOf('three', 'p0')).toBe(false);
  await until('held again', (_roster, held) => held['p0'] === 'one' || held['p0'] === 'two');
  // A machine that is killed loses its projects within a minute.
  two.child.kill('SIGKILL');
  await two.ended;
  const taken = await until('taken over', (_roster, held) => projects.every((name) => held[name] === 'one'));
  // Its copies are not the newest any more: they answer nothing.
  const lost = projects.find((name) => copyOf('two', name)) ?? '';
  const elsewhere = `${lost} is held by one (worker)`;
  expect(await on('two', ['where', '--uuid', '00000000-0000-4000-8000-000000000000', '--project', lost])).toMatchObject(
    { code: 5 },
  );
  expect((await on('two', ['status', '--project', lost])).stdout).toContain(elsewhere);
  const looked = await on('two', ['doctor', '--project', lost, '--json']);
  const { findings } = JSON.parse(looked.stdout) as { findings: Check[] };
  expect(findings.filter(({ state }) => state === 'failed')).toEqual([]);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'project', detail: expect.stringContaining(elsewhere) }),
  );
  process.stdout.write(`shared after ${shared.toFixed(1)} s, taken over ${taken.toFixed(1)} s after the kill\n`);
  expect(taken).toBeLessThan(60);
  const listed = await on('three', ['cluster', 'list']);
  expect(listed.stdout).toMatch(/two +gone/);
  // Stopped, a worker gives all up: nothing is left on its disk.
  one.child.kill('SIGTERM');
  expect(await one.ended).toMatchObject({ code: 0 });
  await until('given up', (_roster, held) => projects.every((name) => held[name] === null));
  for (const name of projects) expect([name, copyOf('one', name)]).toEqual([name, false]);
  for (const name of projects) {
    const { code, stdout, stderr } = await on('three', ['audit', 'verify', '--project', name]);
    expect([name, code, code === 0 ? '' : stdout + stderr]).toEqual([name, 0, '']);
  }
}, 600_000);
