import { join } from 'node:path';
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { copyFolder } from './copy-folder.ts';
import { toldLostOnce, type Run, type KilledCommand } from './killed-command.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** Small pages, limits that are kept but never reached, and no waiting for a second 404. */
const settings = [
  ['persons.pageSize', '50'],
  ['recordings.pageSize', '20'],
  ['budget.windows', '[{requests: 100000, perSeconds: 60}]'],
  ['budget.recordings.windows', '[]'],
  ['deletions.confirmAfterSeconds', '0'],
  ['deletions.collectHours', '0'],
  ['log.level', 'warn'],
].flatMap(([name, value]) => ['--set', `${name}=${value}`]);

/** A workspace for commands that are killed. */
export function openCrashWorkspace(): Promise<Workspace> {
  return openWorkspace({ persons: 300, recordings: 50, seed: 11 });
}

/** The first sync of everything. */
export function firstSync(workspace: Workspace, inFlightMax: number): KilledCommand {
  return {
    workspace,
    settings: [...settings, '--set', `playlists.shortIds=[${workspace.sandbox.playlists.join(', ')}]`],
    inFlightMax,
    base: null,
    command: ['sync'],
    finish: async (run) => {
      expect(await run('sync')).toMatchObject({ code: 0, stderr: '' });
    },
  };
}

/** What is done to a mirror whose service has lost, merged and split persons. */
export type DeletionCommands = {
  /** Nominates the absent rows and asks for them a first time; lets expired recordings go. */
  sync: KilledCommand;
  /** Asks a second time, and lets them go. */
  reconcile: KilledCommand;
  /** Holds them, since they are more than may go unasked. */
  hold: KilledCommand;
  /** Lets them go on. */
  approve: KilledCommand;
};

/** Changes the service's data, and tells what can be killed while the mirror follows. */
export async function deletionCommands(workspace: Workspace, inFlightMax: number): Promise<DeletionCommands> {
  const { sandbox, folder } = workspace;
  const command: KilledCommand = { ...firstSync(workspace, inFlightMax), finish: syncAndReconcile };
  const held: KilledCommand = { ...command, settings: [...command.settings, '--set', 'deletions.maxCount=2'] };
  const synced = join(folder, 'synced');
  expect(await workspace.run(['sync', ...command.settings, '--data-dir', synced])).toMatchObject({ code: 0 });

  const deleted = losePersons(sandbox);
  const expiring = {
    ...command,
    settings: [...command.settings, '--set', `recordings.retentionDays=${loseRecordings(sandbox)}`],
  };
  const nominated = join(folder, 'nominated');
  copyFolder(synced, nominated);
  expect(await workspace.run(['sync', ...command.settings, '--data-dir', nominated])).toMatchObject({ code: 0 });
  const waiting = join(folder, 'waiting');
  copyFolder(synced, waiting);
  const plan = planOf(await workspace.run(['sync', '--json', ...held.settings, '--data-dir', waiting]));

  // Some come back, while the mirror takes them for absent.
  for (const uuid of deleted.slice(0, 2)) sandbox.act({ do: 'resurrect', uuid });
  return {
    sync: { ...expiring, base: synced },
    reconcile: { ...command, base: nominated, command: ['reconcile'] },
    hold: { ...held, base: synced, finish: syncApproveAndReconcile },
    approve: { ...held, base: waiting, command: ['reconcile', '--approve', plan], finish: syncApproveAndReconcile },
  };
}

/** Deletes, merges (one of them into one who is merged away too), splits, creates and changes. Returns who was deleted. */
function losePersons(sandbox: Sandbox): string[] {
  const persons = [...sandbox.living()];
  const uuidAt = (index: number): string => persons[index]?.uuid ?? '';
  const deleted = [5, 60, 150, 298].map(uuidAt);
  for (const uuid of deleted) sandbox.act({ do: 'delete', uuid });
  for (const [loser, survivor] of [
    [20, 21],
    [110, 230],
    [30, 31],
    [31, 32],
  ] as const)
    sandbox.act({ do: 'merge', loser: uuidAt(loser), survivor: uuidAt(survivor) });
  const several = persons.find(({ distinct_ids: ids }, index) => index > 240 && ids.length > 2);
  sandbox.act({ do: 'split', uuid: several?.uuid ?? '' });
  sandbox.act({ do: 'create', distinct_ids: ['new', 'newer'] });
  sandbox.store.persons.mergeProperties(persons[70]?.id ?? 0, { plan: 'pro' }, { userId: 1, atMs: 0 });
  return deleted;
}

/** Lets the service forget its oldest recordings. Returns for how many days it keeps them. */
function loseRecordings(sandbox: Sandbox): number {
  const { documents } = sandbox.store.recordings.page({ limit: 50, offset: 0 });
  const startsMs = documents.map((text) => Date.parse((JSON.parse(text) as { start_time: string }).start_time));
  const [oldestKept = 0, newestLost = 0] = startsMs.slice(-6, -4);
  const boundaryMs = (oldestKept + newestLost) / 2;
  sandbox.act({ do: 'expire_recordings', before: new Date(boundaryMs).toISOString() });
  return (Date.now() - boundaryMs) / 86_400_000;
}

async function syncAndReconcile(run: Run): Promise<void> {
  expect(await run('sync')).toMatchObject({ code: 0, stderr: '' });
  expect(await toldLostOnce(run)).toMatchObject({ code: 0, stderr: '' });
}

/** Approves what is held, if anything is, as an operator would. */
async function syncApproveAndReconcile(run: Run): Promise<void> {
  const synced = await run('sync', '--json');
  expect(synced).toMatchObject({ code: expect.toBeOneOf([0, 4]), stderr: '' });
  if (synced.code === 4)
    expect(await run('reconcile', '--approve', planOf(synced))).toMatchObject({ code: 0, stderr: '' });
  expect(await run('reconcile')).toMatchObject({ code: 0, stderr: '' });
}

function planOf(held: Ended): string {
  const { absence } = jsonOf(held) as { absence: { held: { plan: string }[] } };
  return absence.held[0]?.plan ?? '';
}
