import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deletionCommands, firstSync, openCrashWorkspace, type DeletionCommands } from './commands-to-kill.ts';
import { assertSurvives, referenceOf, type KilledCommand } from './killed-command.ts';
import { killPoints } from '../kill/kill-point.ts';
import { shareOut } from './share-out.ts';
import type { Workspace } from './workspace.ts';

/** A project for each core of a small machine. */
const lanes = [1, 2];
let workspaces: Workspace[];
/** What several commands execute alike is swept in the first that does. */
const swept = new Set<string>();

beforeAll(async () => {
  workspaces = await Promise.all(lanes.map(openCrashWorkspace));
});
afterAll(() => Promise.all(workspaces.map((workspace) => workspace[Symbol.asyncDispose]())));

/** Kills the command at every point of each operation that was not swept before. Returns how often it was killed. */
async function assertSurvivesAnywhere(commands: readonly KilledCommand[]): Promise<number> {
  const references = await Promise.all(commands.map((command) => referenceOf(command)));
  const executions = references[0]?.executions.filter(({ operation }) => !swept.has(operation)) ?? [];
  for (const { operation } of executions) swept.add(operation);
  const points = killPoints(executions);
  await shareOut(references, points, (reference, point) => assertSurvives(reference, [point]));
  return points.length;
}

it('a first sync may be killed at any operation', async () => {
  const kills = await assertSurvivesAnywhere(workspaces.map((workspace) => firstSync(workspace, 1)));
  expect(kills).toBeGreaterThan(90);
});

describe('where persons have gone', () => {
  let deletions: DeletionCommands[];
  beforeAll(async () => {
    deletions = await Promise.all(workspaces.map((workspace) => deletionCommands(workspace, 4)));
  });

  it.each([
    ['reconcile', 30],
    ['sync', 20],
    ['approve', 1],
    ['hold', 3],
  ] as const)('so may %s', async (name, killsMin) => {
    const kills = await assertSurvivesAnywhere(deletions.map((commands) => commands[name]));
    expect(kills).toBeGreaterThan(killsMin);
  });
});
