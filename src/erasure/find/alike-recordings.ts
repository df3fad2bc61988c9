import type { Identity, Sighting } from '../../contract/identity.ts';
import { keepTexts, type KeptTexts } from './kept-texts.ts';

/** One of the recordings that are alike, as a row shows it, for all of them. `values` are texts of all of them. */
type AlikeRow<Place> = Sighting & {
  place: Place;
  /** How many rows it stands for. */
  rows: number;
  /** Where these texts were kept, and how many there was no room for: rows can have them in common. */
  kept: KeptTexts;
};

/**
 * The rows of recordings that were seen. One person can have a million: in memory are the ids, and each kind of row that they
 * stand in once. Recordings are alike where the same subjects begin with them, and they were seen at the same places with the
 * same persons: whatever a closure finds about one of them holds for all, so that it is asked about one.
 */
export type AlikeRecordings<Place> = {
  /** Takes a row of a recording. A row that was taken before changes nothing. */
  take: (place: Place, row: Sighting & { recording_id: string }) => void;
  isSeenAt: (place: Place, recordingId: string) => boolean;
  /** The ids among these that were not asked for before. From then on they were. */
  unasked: (recordingIds: readonly string[]) => string[];
  read: () => {
    rows: AlikeRow<Place>[];
    /** An identity with one of each recordings that are alike. */
    fold: (identity: Identity) => Identity;
    /** An identity with all recordings that are like those that it has. */
    unfold: (identity: Identity) => Identity;
  };
};

/** A person as rows of recordings show it, what rows at each place are, and the texts by the subjects that begin with them. */
type Shown<Place> = { person: Sighting; groups: Map<Place, Group<Place>>; texts: Map<string, KeptTexts> };

type Group<Place> = { place: Place; shown: Shown<Place> };

/** What alike recordings have in common, and the number of those that are alike with one thing more. */
type Alike<Place> = {
  groups: readonly Group<Place>[];
  starts: string;
  isAsked: boolean;
  next: Map<Group<Place> | number | 'asked', number>;
};

/** Prepares an empty record, for subjects that begin with these identities. */
export function alikeRecordings<Place>(starts: Iterable<Identity>): AlikeRecordings<Place> {
  const alike: Alike<Place>[] = [{ groups: [], starts: '', isAsked: false, next: new Map() }];
  const numbers = new Map<string, number>();
  const alikeTo = (id: string): Alike<Place> => alike[numbers.get(id) ?? 0] as Alike<Place>;
  const add = (id: string, more: Group<Place> | number | 'asked'): void => {
    const before = alikeTo(id);
    let number = before.next.get(more);
    if (number === undefined) {
      number = alike.length;
      before.next.set(more, number);
      const next = { ...before, next: new Map() };
      if (more === 'asked') next.isAsked = true;
      else if (typeof more === 'number') next.starts = `${before.starts} ${more}`;
      else next.groups = [...before.groups, more];
      alike.push(next);
    }
    numbers.set(id, number);
  };
  for (const [subject, { recording_id: ids }] of [...starts].entries()) for (const id of ids) add(id, subject);
  const shownBy = createPersons<Place>();
  const textsOf = keepTexts();
  return {
    take: (place, row) => {
      const shown = shownBy(row);
      const group = shown.groups.get(place) ?? { place, shown };
      shown.groups.set(place, group);
      const { groups, starts: begun } = alikeTo(row.recording_id);
      if (groups.includes(group)) return;
      add(row.recording_id, group);
      const texts = shown.texts.get(begun) ?? textsOf(shown.person);
      shown.texts.set(begun, texts);
      texts.keep(row.values);
    },
    isSeenAt: (place, id) => alikeTo(id).groups.some((group) => group.place === place),
    unasked: (ids) =>
      ids.filter((id) => {
        if (alikeTo(id).isAsked) return false;
        add(id, 'asked');
        return true;
      }),
    read: () => {
      const members: string[][] = alike.map(() => []);
      for (const [id, number] of numbers) members[number]?.push(id);
      const likeIt = new Map(members.flatMap((ids) => (ids[0] === undefined ? [] : [[ids[0], ids] as const])));
      const listOf = memo(({ values }: KeptTexts) => [...values]);
      return {
        rows: [...likeIt].flatMap(([id, { length }]) => {
          const { groups, starts: begun } = alikeTo(id);
          return groups.flatMap(({ place, shown: { person, texts } }) => {
            const kept = texts.get(begun);
            return kept ? [{ ...person, recording_id: id, values: listOf(kept), place, rows: length, kept }] : [];
          });
        }),
        fold: (identity) => ({ ...identity, recording_id: identity.recording_id.filter((id) => likeIt.has(id)) }),
        unfold: (identity) => ({
          ...identity,
          recording_id: identity.recording_id.flatMap((id) => likeIt.get(id) ?? id),
        }),
      };
    },
  };
}

/** Prepares the look-up of what rows show of their persons: rows that show the same have the same one. */
function createPersons<Place>(): (row: Sighting) => Shown<Place> {
  const known = new Map<string, Shown<Place>>();
  return ({ person_uuid, person_id, distinct_ids, email }) => {
    const key = JSON.stringify([person_uuid, person_id, email ?? null, distinct_ids]);
    let shown = known.get(key);
    if (!shown) {
      const person = { person_uuid, person_id, distinct_ids, recording_id: null, values: [] };
      shown = { person: email === undefined ? person : { ...person, email }, groups: new Map(), texts: new Map() };
      known.set(key, shown);
    }
    return shown;
  };
}

function memo<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}
