import { generatePerson } from '../generator/person.ts';
import { generateRecording, type RecordingStyle } from '../generator/recording.ts';
import { randomFor } from '../generator/seeded-random.ts';
import type { Change } from '../store/change-log.ts';
import { distinctIdsOf, recordingPersonJson } from '../store/person-row.ts';
import type { Store } from '../store/store.ts';

/**
 * How many of a hundred changes are of each kind. A purge deletes neighbours in the list, an import creates persons.
 */
const weights = {
  change: 28,
  create: 20,
  delete: 20,
  merge: 10,
  split: 8,
  purge: 5,
  import: 4,
  record: 3,
  expire: 2,
} as const;
type Kind = keyof typeof weights;
const kinds = (Object.keys(weights) as Kind[]).flatMap((kind) => Array<Kind>(weights[kind]).fill(kind));

const burst = { min: 20, max: 200 };
/** The largest share of all persons in one burst, so that a burst cannot replace a small list. */
const burstShareMax = 0.1;

/** `rate` is changes per request served, and may be fractional. */
export type ChurnParts = { store: Store; seed: number; rate: number; recordings: RecordingStyle; hostile: boolean };

export type Churn = ReturnType<typeof createChurn>;

/**
 * Changes the data while they are read: always between two list requests, never during an answer. The seed and the
 * requests decide what changes.
 */
export function createChurn({ store, seed, rate, recordings, hostile }: ChurnParts) {
  const { persons, lifecycle } = store;
  // When a folder is opened again, the choices differ: the same choices would make the same recordings again.
  const random = randomFor('churn', seed, store.truth.version() + store.recordings.lastSequence());
  const viewers = [store.apiKeys.user(1).email];
  let due = 0;

  /** Any living person; undefined if there is none. */
  const anyone = (): number | undefined =>
    lifecycle.atOrAfter(random.int(1, lifecycle.nextId())) ?? lifecycle.atOrAfter(1);

  const create = (change: Change): void => {
    const createdAtMicros = change.atMs * 1000;
    lifecycle.create((id) => {
      const person = generatePerson(random, id, { hostile });
      return { ...person, uuid: lifecycle.uuidFor(id), createdAtMicros };
    }, change);
  };

  const burstSize = (): number =>
    Math.min(random.int(burst.min, burst.max), Math.ceil(lifecycle.count() * burstShareMax));

  const record = (id: number): void => {
    const person = persons.find(id);
    const [distinctId] = person ? distinctIdsOf(person) : [];
    if (!person || distinctId === undefined) return;
    const { recording, startMicros } = generateRecording(random, distinctId, viewers, recordings);
    store.recordings.add(recording, startMicros, recordingPersonJson(person));
  };

  const changes: Record<Kind, (id: number, change: Change) => void> = {
    change: (id, change) => void persons.mergeProperties(id, { churned: random.int(0, 1_000_000) }, change),
    create: (_id, change) => create(change),
    delete: (id, change) => void persons.delete(id, false, change),
    merge: (id, change) => void lifecycle.merge(id, anyone() ?? id, change),
    split: (id, change) => void persons.split(id, change),
    purge: (id, change) => {
      for (const each of lifecycle.neighbours(id, burstSize())) persons.delete(each, false, change);
    },
    import: (_id, change) => {
      for (let left = burstSize(); left > 0; left -= 1) create(change);
    },
    record,
    expire: () => store.recordings.expireOldest(),
  };

  const changeOnce = (change: Change): void => {
    const kind = random.pick(kinds);
    const id = anyone();
    if (id === undefined) create(change);
    else changes[kind](id, change);
  };

  return {
    /** Counts a request. If it is for a list, makes the changes that are due. */
    passRequest(isList: boolean, atMs: number): void {
      due += rate;
      if (!isList) return;
      for (; due >= 1; due -= 1) changeOnce({ userId: 1, atMs });
    },
  };
}
