import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Roster } from '../../src/cluster/roster.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { stopAll } from './cluster-workers.ts';
import { openFaultWorld } from './fault-world.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of this program with one more migration: the path of its main file. */
function newerProgram(): string {
  const folder = freshFolder();
  for (const part of ['src', 'config', 'docs/verifier', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const migrations = join(folder, 'src', 'mirror', 'migrations');
  const next = String(readdirSync(migrations).length + 1).padStart(4, '0');
  writeFileSync(join(migrations, `${next}-newer.sql`), 'CREATE TABLE newer_one (x INTEGER) STRICT;\n');
  return join(folder, 'src', 'main.ts');
}

it('an upgrade under way: what a newer version has taken waits for one, and the older goes on with the rest', async () => {
  const world = await openFaultWorld({ others: ['blog'] });
  const { on, worker, until } = world;
  const newer = { main: newerProgram() };
  const holders = ({ projects }: Roster): string =>
    projects
      .map(({ holder }) => holder ?? 'none')
      .toSorted()
      .join();
  const old = worker('old');
  await until('held by the old one', (roster) => holders(roster) === 'old,old');
  const young = worker('young', newer);
  await until('shared', (roster) => holders(roster) === 'old,young');
  young.child.kill('SIGKILL');
  await young.ended;
  await until('its time is over', (roster) => holders(roster) === 'none,old');
  // As long as several looks of the old one.
  await delay(5_000);
  expect((await on('old', ['cluster', 'list'])).stdout).toMatch(/\n *(?:shop|blog) +none +of a newer version\n/);
  const again = worker('young', newer);
  await until('shared again', (roster) => holders(roster) === 'old,young');
  await stopAll([old]);
  await until('all with the newer one', (roster) => holders(roster) === 'young,young');
  const refused = await on('old', ['sync']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('was written by a newer version') });
  expect((await on('third', ['status'])).stdout).toContain(
    'this machine leaves it alone: a newer version of analytics-mirror has written it',
  );
  await stopAll([again]);
}, 900_000);
