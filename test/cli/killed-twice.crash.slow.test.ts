import { afterAll, beforeAll, expect, it } from 'vitest';
import { deletionCommands, firstSync, openCrashWorkspace } from './commands-to-kill.ts';
import { afterKill, assertSurvives, referenceOf, type KilledCommand } from './killed-command.ts';
import { killPoints, type Execution } from '../kill/kill-point.ts';
import { shareOut } from './share-out.ts';
import type { Workspace } from './workspace.ts';

/** From one second point to the next: a prime, so that they are spread over all. */
const stride = 37;

/** A project for each core of a small machine. */
const lanes = [1, 2];
let workspaces: Workspace[];
beforeAll(async () => {
  workspaces = await Promise.all(lanes.map(openCrashWorkspace));
});
afterAll(() => Promise.all(workspaces.map((workspace) => workspace[Symbol.asyncDispose]())));

/** Kills the command where it first executes each operation, and the run after it somewhere else each time. */
async function assertSurvivesTwice(
  commands: readonly KilledCommand[],
  isChosen: (execution: Execution) => boolean = () => true,
): Promise<void> {
  const references = await Promise.all(commands.map((command) => referenceOf(command)));
  const firsts = killPoints(references[0]?.executions.filter(isChosen) ?? []).filter(({ nth }) => nth === 1);
  expect(firsts.length).toBeGreaterThan(10);
  await shareOut(references, firsts, async ({ command, outcome }, first, index) => {
    const again = await referenceOf(await afterKill(command, first), command.inFlightMax);
    expect(again.outcome).toEqual(outcome);
    const seconds = killPoints(again.executions);
    const second = seconds[(index * stride) % seconds.length];
    if (!second) throw new Error('nothing was left to be done');
    await assertSurvives(again, [second]);
  });
}

it('the run after a killed sync may be killed too', async () => {
  await assertSurvivesTwice(workspaces.map((workspace) => firstSync(workspace, 4)));
});

it('the run after a killed reconcile may be killed too', async () => {
  const deletions = await Promise.all(workspaces.map((workspace) => deletionCommands(workspace, 4)));
  await assertSurvivesTwice(
    deletions.map(({ reconcile }) => reconcile),
    ({ operation }) => /suspects|persons|distinct|deletions|changes/.test(operation),
  );
});
