import { afterAll, beforeAll, expect, it } from 'vitest';
import { deletionStories, firstSync, openCrashPlace } from './crash-stories.ts';
import { afterKill, assertSurvives, rehearse, type Story } from './crash-story.ts';
import { killPoints, type Execution } from './kill-point.ts';
import { shareOut } from './share-out.ts';
import type { Workspace } from './workspace.ts';

/** From one second point to the next: a prime, so that they are spread over all. */
const stride = 37;

/** A project for each core of a small machine. */
const lanes = [1, 2];
let places: Workspace[];
beforeAll(async () => {
  places = await Promise.all(lanes.map(openCrashPlace));
});
afterAll(() => Promise.all(places.map((place) => place[Symbol.asyncDispose]())));

/** Kills the command where it first executes each statement, and the run after it somewhere else each time. */
async function assertSurvivesTwice(
  stories: readonly Story[],
  isChosen: (execution: Execution) => boolean = () => true,
): Promise<void> {
  const rehearsals = await Promise.all(stories.map((story) => rehearse(story)));
  const firsts = killPoints(rehearsals[0]?.executions.filter(isChosen) ?? []).filter(({ nth }) => nth === 1);
  expect(firsts.length).toBeGreaterThan(10);
  await shareOut(rehearsals, firsts, async ({ story, outcome }, first, index) => {
    const again = await rehearse(await afterKill(story, first), story.inFlightMax);
    expect(again.outcome).toEqual(outcome);
    const seconds = killPoints(again.executions);
    const second = seconds[(index * stride) % seconds.length];
    if (!second) throw new Error('nothing was left to be done');
    await assertSurvives(again, [second]);
  });
}

it('the run after a killed sync may be killed too', async () => {
  await assertSurvivesTwice(places.map((place) => firstSync(place, 4)));
});

it('the run after a killed reconcile may be killed too', async () => {
  const deletions = await Promise.all(places.map((place) => deletionStories(place, 4)));
  await assertSurvivesTwice(
    deletions.map(({ reconcile }) => reconcile),
    ({ statement }) => /suspects|persons|distinct|deletions|changes/.test(statement),
  );
});
