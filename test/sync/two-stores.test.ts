import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/sandbox/generator/seeded-random.ts';
import { beginWalk, judgePage } from '../../src/sync/walk-plan.ts';
import type { WalkPlan } from '../../src/sync/walk-windows.ts';

const plan: WalkPlan = {
  pageSize: 200,
  widestRows: 10_000,
  overlap: 'auto',
  windowsMax: 1000,
  restartsMax: 20,
  roundsMax: 4,
};

/** A person: `selected` is the time that the list is sorted by, `shown` the one that its page is sorted by, and shows. */
type Person = { key: string; selected: number; shown: number };

/** How the two stores differ: one person in so many for good, and merges that reach the first store some answers later. */
type Stores = { oneIn: number; later: number };

/** Walks a list of which stretches are deleted, and whose persons are merged, between the answers. */
function walkTwoStores({ oneIn, later }: Stores, seed: number): { reason: string | null; missed: number } {
  const random = seededRandom(seed);
  const list = Array.from({ length: 2000 }, (_value, index): Person => {
    const time = 10 * (2000 - index);
    return { key: random.uuid(), selected: time, shown: oneIn > 0 && random.oneIn(oneIn) ? random.int(1, time) : time };
  });
  const merges: { person: Person; due: number }[] = [];
  const seen = new Set<string>();
  let state = beginWalk(plan);
  for (let answers = 1; ; answers += 1) {
    if (random.oneIn(3)) list.splice(random.int(0, list.length - 1), random.int(0, 60));
    if (random.oneIn(3)) {
      const person = random.pick(list);
      person.shown = random.int(1, person.shown);
      merges.push({ person, due: answers + later });
    }
    for (const { person, due } of merges) if (due === answers) person.selected = person.shown;
    list.sort((a, b) => b.selected - a.selected || (a.key < b.key ? 1 : -1));
    const { offset, limit } = state.window;
    const shown = list.slice(offset, offset + limit).toSorted((a, b) => b.shown - a.shown || (a.key < b.key ? -1 : 1));
    const before = seen.size;
    for (const { key } of shown) seen.add(key);
    const page = {
      keys: shown.map(({ key }) => key),
      times: shown.map((person) => BigInt(person.shown)),
      received: shown.length,
      isLast: shown.length < limit,
      nextOffset: shown.length < limit ? null : offset + limit,
      count: null,
    };
    const step = judgePage(plan, state, page, seen.size - before);
    if (step.next === 'end') return { reason: step.reason, missed: list.filter(({ key }) => !seen.has(key)).length };
    state = step.state;
  }
}

describe('a service that selects persons in one store, and shows them as another has them', () => {
  it.each<Stores>([
    { oneIn: 0, later: 3 },
    { oneIn: 1000, later: 3 },
    { oneIn: 200, later: 0 },
    { oneIn: 200, later: 3 },
  ])('loses nobody in a pass that says complete: %o', (stores) => {
    const walks = Array.from({ length: 60 }, (_value, seed) => walkTwoStores(stores, seed));
    const complete = walks.filter(({ reason }) => reason === null);
    expect(complete.length).toBeGreaterThan(50);
    expect(complete.filter(({ missed }) => missed > 0)).toEqual([]);
  });
});
