import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { storeKeys } from '../bucket/real-store.ts';
import { startCarelessStore, type Ignored } from './careless-store.ts';
import { hold, machineOf, openStoreWorld } from './store-world.ts';

const refusal = { code: 'refused', message: expect.stringMatching(/ignores the conditions of requests/) as string };
const both: Ignored[] = ['if-match', 'if-none-match'];

it.each([[both], [['if-match']], [['if-none-match']]] as const)(
  'a store that ignores %s is refused before anything of a project is there',
  async (ignored) => {
    Object.assign(process.env, storeKeys);
    const { endpoint, puts } = await startCarelessStore(ignored);
    const place = { location: 's3://state/cluster/one', endpoint, region: 'us-east-1', forcePathStyle: true };
    const machine = machineOf({ place }, 'one');
    await expect(hold(machine)).rejects.toMatchObject(refusal);
    expect(new Set(puts)).toEqual(new Set(['/state/cluster/one/state/probe']));
    expect(existsSync(join(machine.dataDir, 'mirror.db'))).toBe(false);
  },
);

it('so is one that takes the place of a careful store: the state of a machine that has a copy does not go there', async () => {
  const world = await openStoreWorld();
  const machine = machineOf(world, 'one');
  await (await hold(machine)).close();
  const { endpoint, puts } = await startCarelessStore(both);
  await expect(hold({ ...machine, place: { ...world.place, endpoint } })).rejects.toMatchObject(refusal);
  expect(new Set(puts)).toEqual(new Set(['/state/cluster/one/state/probe']));
  // The copy stays, and goes on with its own store.
  await hold(machine);
});
