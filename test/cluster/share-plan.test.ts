import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planShare, type SeenMachine, type SeenProject } from '../../src/cluster/share-plan.ts';

function project(id: string, more: Partial<SeenProject> = {}): SeenProject {
  const free = { holder: null, purpose: null, since: null, isPaused: false, home: null, wantedBy: null };
  return { id, name: id, schema: 1, isSilent: false, ...free, ...more };
}

const machine = (name: string, isDraining = false, more: Partial<SeenMachine> = {}): SeenMachine => ({
  name,
  isDraining,
  schema: 1,
  isAble: true,
  ...more,
});

function planOf(name: string, projects: readonly SeenProject[], machines: readonly SeenMachine[]) {
  const own = new Set(projects.filter(({ holder }) => holder !== name).map(({ id }) => id));
  const idle = new Set(projects.map(({ id }) => id));
  return planShare(projects, machines, { machine: name, own, idle, schema: 1 });
}

test('a machine takes what is free up to its share, and nothing that is paused, wanted, newer, or named to another', () => {
  const projects = [
    project('a', { holder: 'two', purpose: 'worker' }),
    project('b'),
    project('c', { isPaused: true }),
    project('d', { wantedBy: 'sync' }),
    project('e', { schema: 2 }),
    project('f', { home: 'two' }),
    project('g', { home: 'gone' }),
    project('h', { home: 'one' }),
  ];
  expect(planOf('one', projects, [machine('one'), machine('two')])).toEqual({ giveUp: [], take: ['h', 'b', 'g'] });
});

test('a machine gives up what is paused, wanted or named to another, and all when it is drained', () => {
  const mine = { holder: 'one', purpose: 'worker' };
  const projects = [
    project('a', mine),
    project('b', { ...mine, isPaused: true }),
    project('c', { ...mine, wantedBy: 'erase add' }),
    project('d', { ...mine, home: 'two' }),
    project('e', { holder: 'one', purpose: 'sync' }),
  ];
  expect(planOf('one', projects, [machine('one'), machine('two')]).giveUp).toEqual(['b', 'c', 'd']);
  expect(planOf('one', projects, [machine('one', true), machine('two')]).giveUp).toEqual(['a', 'b', 'c', 'd']);
});

test('what is too much is given up only where no job runs', () => {
  const projects = ['a', 'b', 'c', 'd'].map((id) => project(id, { holder: 'one', purpose: 'worker' }));
  const self = { machine: 'one', own: new Set<string>(), idle: new Set(['c']), schema: 1 };
  expect(planShare(projects, [machine('one'), machine('two')], self).giveUp).toEqual(['c']);
});

test('a machine that can open nothing has no part; where none can, each has its own', () => {
  const projects = ['a', 'b', 'c', 'd'].map((id) => project(id));
  const unable = machine('two', false, { isAble: false });
  expect(planOf('one', projects, [machine('one'), unable]).take).toEqual(['a', 'b', 'c', 'd']);
  expect(planOf('two', projects, [machine('one'), unable]).take).toEqual([]);
  expect(planOf('two', projects, [machine('one', false, { isAble: false }), unable]).take).toEqual(['a', 'b']);
});

test('what only a newer version can read is held by a machine that has it, also beyond its part', () => {
  const mine = { holder: 'new', purpose: 'worker' };
  const newer = ['a', 'b', 'c'].map((id) => project(id, { ...mine, schema: 2 }));
  const older = ['d', 'e', 'f'].map((id) => project(id));
  const machines = [machine('new', false, { schema: 2 }), machine('old-1'), machine('old-2')];
  const planOfNewer = (projects: readonly SeenProject[]) => {
    const ids = new Set(projects.map(({ id }) => id));
    return planShare(projects, machines, { machine: 'new', own: ids, idle: ids, schema: 2 });
  };
  expect(planOfNewer([...newer, ...older])).toEqual({ giveUp: [], take: [] });
  expect(planOf('old-1', [...newer, ...older], machines)).toEqual({ giveUp: [], take: ['d', 'e'] });
  // Where it holds others, it takes those that are newer all the same, and then gives up others.
  const full = ['d', 'e'].map((id) => project(id, mine)).concat(project('f'));
  expect(planOfNewer([...newer.map((each) => project(each.id, { schema: 2 })), ...full])).toEqual({
    giveUp: [],
    take: ['a', 'b', 'c'],
  });
  expect(planOfNewer([...newer, ...full])).toEqual({ giveUp: ['d', 'e'], take: [] });
});

test('what a machine with room cannot open goes to a full one, which gives up another for it', () => {
  const machines = [machine('one'), machine('two')];
  const held = (name: string, id: string, hour: number): SeenProject =>
    project(id, { holder: name, purpose: 'worker', since: `2026-01-01T0${hour}:00:00.000Z` });
  const theirs = [held('one', 'c', 1), held('two', 'd', 2), held('two', 'e', 1)];
  const two = (projects: readonly SeenProject[]) => planOf('two', [...projects, ...theirs], machines);
  const full = held('two', 'f', 3);
  // As long as the machine with room may take it, the full one waits.
  expect(two([project('a'), project('b'), full])).toEqual({ giveUp: [], take: [] });
  // One at a look: the other machines look, too.
  const silent = ['a', 'b'].map((id) => project(id, { isSilent: true }));
  expect(two([...silent, full])).toEqual({ giveUp: [], take: ['a'] });
  expect(two([project('a', { isSilent: true, isPaused: true })]).take).toEqual([]);
  // The oldest goes, and not what was just taken.
  expect(two([held('two', 'a', 9)])).toEqual({ giveUp: ['e'], take: [] });
});

test('however machines come and go: soon each holds its share, all is held, and then nothing moves any more', () => {
  const change = fc.record({ come: fc.nat(5), go: fc.nat(5), drain: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60 }), fc.array(change, { maxLength: 6 }), (count, changes) => {
      const projects = Array.from({ length: count }, (_, index) => project(`p${index}`));
      let machines = [machine('m0')];
      /** One look of every machine, each at what the others have left; how many projects moved. */
      const lookOnce = (): number => {
        let moves = 0;
        for (const { name } of machines) {
          const { giveUp, take } = planOf(name, projects, machines);
          for (const each of projects) {
            if (giveUp.includes(each.id)) each.holder = each.purpose = null;
            else if (take.includes(each.id)) [each.holder, each.purpose] = [name, 'worker'];
            else continue;
            moves += 1;
          }
        }
        return moves;
      };
      for (const { come, go, drain } of [{ come: 0, go: 9, drain: false }, ...changes]) {
        if (!machines.some(({ name }) => name === `m${come}`)) machines.push(machine(`m${come}`));
        const left = machines[go];
        if (left && machines.length > 1) {
          if (drain) left.isDraining = true;
          else {
            machines = machines.filter((each) => each !== left);
            // Its leases are over.
            for (const each of projects) if (each.holder === left.name) each.holder = each.purpose = null;
          }
        }
        if (machines.every(({ isDraining }) => isDraining)) return;
        for (let looks = 0; looks < 3; looks += 1) lookOnce();
        expect(lookOnce()).toBe(0);
        const ready = machines.filter(({ isDraining }) => !isDraining);
        const held = Map.groupBy(projects, ({ holder }) => holder);
        expect(held.has(null)).toBe(false);
        for (const [holder, own] of held) {
          expect(ready.map(({ name }) => name)).toContain(holder);
          expect(own.length).toBeLessThanOrEqual(Math.ceil(count / ready.length));
        }
      }
    }),
  );
});
