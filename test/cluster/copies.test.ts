import { expect, onTestFinished, test } from 'vitest';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { openCopies } from '../../src/cluster/copies.ts';
import { freshDatabase } from './cluster-world.ts';

test('copies are listed by project and by machine, from before they are made until they are deleted', async () => {
  const database = openClusterDatabase(await freshDatabase());
  onTestFinished(() => database.close());
  const copies = openCopies(database);
  for (const [project, machine] of [
    ['p', 'b'],
    ['p', 'a'],
    ['q', 'a'],
  ] as const)
    await copies.note(project, machine);
  const [first] = await copies.ofProject('p');
  expect(first?.since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  // A copy that is made again is as old as its first byte.
  await copies.note('p', 'a');
  expect(await copies.ofProject('p')).toEqual([first, expect.objectContaining({ machine: 'b' })]);
  await copies.forget('p', 'a');
  expect((await copies.ofMachine('a')).map(({ project }) => project)).toEqual(['q']);
  expect((await copies.ofProject('p')).map(({ machine }) => machine)).toEqual(['b']);
});
