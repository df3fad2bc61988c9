import { randomFor } from '../generator/seeded-random.ts';
import type { Amounts } from '../generator/fill-store.ts';
import type { Store } from '../store/store.ts';
import type { LiveOptions } from './live-options.ts';
import { recordedDays } from './live-recordings.ts';

const runEveryPersons = 5000;
const runFromPersons = 500;
const crowdDistinctIds = 1100;

/** Gives a filled store what only a live one has: ghosts in its lists, and one person with a crowd of distinct ids. */
export function haunt(
  store: Omit<Store, 'close'>,
  { persons, recordings, seed }: Amounts,
  { ghostShare, ghostRun }: LiveOptions,
  nowMs: number,
): void {
  const random = randomFor('haunt', seed);
  /** The time of any person, so that a ghost stands where a person might. */
  const anyTime = (): number => store.persons.find(random.int(1, persons))?.createdAtMicros ?? 0;
  for (let left = Math.floor(persons * ghostShare); left > 0; left -= 1)
    store.ghosts.add('persons', anyTime());
  for (let run = persons < runFromPersons ? 0 : Math.ceil(persons / runEveryPersons); run > 0; run -= 1) {
    const atMicros = anyTime();
    for (let left = ghostRun; left > 0; left -= 1) store.ghosts.add('persons', atMicros);
  }
  for (let left = Math.floor(recordings * ghostShare); left > 0; left -= 1) {
    store.ghosts.add('recordings', nowMs * 1000 - random.int(0, recordedDays * 86_400_000_000));
  }
  if (persons === 0) return;
  const [newest] = store.recordings.page({ limit: 1, offset: 0 }).documents;
  const distinctId = newest === undefined ? '' : (JSON.parse(newest) as { distinct_id: string }).distinct_id;
  store.lifecycle.addDistinctIds(
    store.lifecycle.ownerOf(distinctId)?.id ?? 1,
    Array.from({ length: crowdDistinctIds }, (_, index) => `crowd_${index}`),
  );
}
