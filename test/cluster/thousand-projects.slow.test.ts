import { expect, onTestFinished, test } from 'vitest';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { readRoster } from '../../src/cluster/roster.ts';
import { freshDatabase } from './cluster-world.ts';
import { fleetProject, fleetTime, startMachine, type FleetMachine, type FleetRun } from './virtual-fleet.ts';

const minute = 60_000;
const startMs = Date.UTC(2026, 2, 1, 6, 1);
const projectsCount = 1000;
const machinesCount = 20;
/** A project that another machine has to take over waits so long for that at most. */
const takeoverMs = 60_000;
const periodMs = 10 * minute;

/** Most jobs take seconds; one project of fifty takes minutes, and could keep others waiting. */
const jobMs = (index: number): number => (index % 50 === 7 ? 4 * minute : 3000 + (index % 10) * 1000);

test('a thousand projects on twenty machines that are killed, stopped, drained and come back: each is served on time, by one at a time', async () => {
  const real = openClusterDatabase(await freshDatabase());
  onTestFinished(() => real.close());
  // What a table fills in by itself is of the world's time, too.
  await real.query(
    `ALTER TABLE analytics_mirror.projects ALTER taken_at SET DEFAULT to_timestamp(${startMs / 1000})`,
    [],
  );
  const time = fleetTime(startMs);
  const runs: FleetRun[] = [];
  const schedule = { full: '*/10 * * * *' };
  const projects = Array.from({ length: projectsCount }, (_, index) =>
    fleetProject(`p${String(index).padStart(4, '0')}`, { time, schedule, runs, work: () => ({ ms: jobMs(index) }) }),
  );
  const start = (name: string): FleetMachine => startMachine(name, { time, real, projects });
  const machines = Array.from({ length: machinesCount }, (_, index) => start(`m${String(index).padStart(2, '0')}`));
  const [killed, alsoKilled, stopped, drained] = machines;
  if (!killed || !alsoKilled || !stopped || !drained) throw new Error('there are twenty machines');
  const database = time.database(real);
  const at = (minutes: number): Promise<void> => time.runUntil(startMs + minutes * minute);
  /** How many each living machine holds. */
  const shares = async (): Promise<Map<string | null, number>> => {
    const { projects: all } = await readRoster(database);
    return new Map([...Map.groupBy(all, ({ holder }) => holder)].map(([holder, own]) => [holder, own.length]));
  };

  await at(4);
  expect(await shares()).toEqual(new Map(machines.map(({ name }) => [name, projectsCount / machinesCount])));
  // At 6:10 all are due, and a machine works on four at a time; two machines die in the middle of it.
  await at(10);
  killed.kill();
  alsoKilled.kill();
  await at(11);
  const gone = await shares();
  expect([gone.has(killed.name), gone.has(alsoKilled.name), gone.has(null)]).toEqual([false, false, false]);
  // One stands still for longer than its lease, while all are due.
  await at(20);
  const goOn = stopped.stop();
  await at(21.5);
  expect((await shares()).has(stopped.name)).toBe(false);
  goOn();
  await at(24);
  expect((await shares()).get(stopped.name)).toBeGreaterThan((projectsCount / machinesCount) * 0.8);
  // One is drained, and two come back as new machines.
  await real.query(`UPDATE analytics_mirror.machines SET is_draining = true WHERE name = $1`, [drained.name]);
  const newcomers = [start('n00'), start('n01')];
  await at(34);
  const living = [...machines.slice(2), ...newcomers];
  const last = await shares();
  expect([last.has(drained.name), last.has(null)]).toEqual([false, false]);
  const share = Math.ceil(projectsCount / (living.length - 1));
  for (const [holder, count] of last) expect([holder, count <= share]).toEqual([holder, true]);
  await at(48);

  // Nobody worked on a project while another did: what was killed or fenced has no end.
  let gapMaxMs = 0;
  const counts: number[] = [];
  for (const [project, own] of Map.groupBy(runs, (run) => run.project)) {
    const ended = own.filter(({ endMs }) => endMs !== null).toSorted((a, b) => a.startMs - b.startMs);
    for (const [index, run] of ended.entries()) {
      const next = ended[index + 1];
      if (next) expect([project, (run.endMs ?? 0) <= next.startMs]).toEqual([project, true]);
      gapMaxMs = Math.max(gapMaxMs, (next?.startMs ?? time.clock.now()) - run.startMs);
    }
    counts.push(ended.length);
  }
  expect(counts).toHaveLength(projectsCount);
  // From 6:01 to 6:49 it is due at 6:01, for the tick before, and four times more.
  expect([Math.min(...counts), Math.max(...counts)]).toEqual([5, 5]);
  // At worst a job waits for a takeover and for the round of its machine.
  const roundMs = ((share / 4) * 8000 + 4 * minute) * 2;
  expect(gapMaxMs).toBeLessThan(periodMs + takeoverMs + roundMs);
  for (const machine of living.filter(({ name }) => name !== drained.name)) {
    const shown = machine.shown();
    expect(shown).toHaveLength(projectsCount);
    expect(shown.filter(({ alerts, problem }) => alerts.length > 0 || problem !== null)).toEqual([]);
    expect([machine.name, machine.alerts]).toEqual([machine.name, []]);
  }
  process.stdout.write(
    `${runs.length} runs, ${runs.filter(({ endMs }) => endMs === null).length} not ended; ` +
      `the longest time between two runs of a project: ${(gapMaxMs / minute).toFixed(1)} minutes of ${periodMs / minute}\n`,
  );
  for (const machine of living) machine.kill();
}, 2_400_000);
