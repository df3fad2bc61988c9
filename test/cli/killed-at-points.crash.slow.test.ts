import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deletionStories, firstSync, openCrashPlace, type DeletionStories } from './crash-stories.ts';
import { assertSurvives, rehearse, type Story } from './crash-story.ts';
import { killPoints } from './kill-point.ts';
import { shareOut } from './share-out.ts';
import type { Workspace } from './workspace.ts';

/** A project for each core of a small machine. */
const lanes = [1, 2];
let places: Workspace[];
/** What several commands execute alike is swept in the first that does. */
const swept = new Set<string>();

beforeAll(async () => {
  places = await Promise.all(lanes.map(openCrashPlace));
});
afterAll(() => Promise.all(places.map((place) => place[Symbol.asyncDispose]())));

/** Kills the command at every point of each statement that was not swept before. Returns how often it was killed. */
async function assertSurvivesAnywhere(stories: readonly Story[]): Promise<number> {
  const rehearsals = await Promise.all(stories.map((story) => rehearse(story)));
  const executions = rehearsals[0]?.executions.filter(({ statement }) => !swept.has(statement)) ?? [];
  for (const { statement } of executions) swept.add(statement);
  const points = killPoints(executions);
  await shareOut(rehearsals, points, (rehearsed, point) => assertSurvives(rehearsed, [point]));
  return points.length;
}

it('a first sync may be killed at any statement', async () => {
  const kills = await assertSurvivesAnywhere(places.map((place) => firstSync(place, 1)));
  expect(kills).toBeGreaterThan(90);
});

describe('where persons have gone', () => {
  let deletions: DeletionStories[];
  beforeAll(async () => {
    deletions = await Promise.all(places.map((place) => deletionStories(place, 4)));
  });

  it.each([
    ['reconcile', 30],
    ['sync', 20],
    ['approve', 1],
    ['hold', 3],
  ] as const)('so may %s', async (name, killsMin) => {
    const kills = await assertSurvivesAnywhere(deletions.map((stories) => stories[name]));
    expect(kills).toBeGreaterThan(killsMin);
  });
});
