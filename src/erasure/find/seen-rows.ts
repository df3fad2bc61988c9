import { pausing } from '../../core/pausing.ts';
import { keyKind } from '../../contract/datasets.ts';
import {
  identifierKinds,
  identityOf,
  nobody,
  type IdentifierKind,
  type Identity,
  type Sighting,
} from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { findEmails, findListedInParts, findRecordingsInParts } from '../../mirror/sightings.ts';
import { locateEmails } from '../../snapshot/email-rows.ts';
import { placeOf } from '../../snapshot/published-files.ts';
import { searchIdentity, type FoundPart } from '../../snapshot/subject-rows.ts';
import { isNameless } from './closure.ts';
import { keepTexts, type KeptTexts } from './searched-texts-plan.ts';

/** A row that was seen, and where: or one for several rows of recordings that are alike. */
export type Seen = Sighting & {
  createdAt?: string | null;
  place: SeenPlace;
  /** How many rows it stands for, if more than itself. */
  rows?: number;
  /** Where the texts of such rows are kept, and how many there was no room for. Rows can have them in common. */
  kept?: KeptTexts;
};

type SeenPlace = 'person' | 'recording' | 'listed' | 'lost' | 'lead' | 'service' | FoundPart;

/**
 * Prepares an empty record of rows of published files and of recordings, for subjects that begin with these identities. What was
 * searched for once is not again.
 */
export function seenRows(
  { db, published, signal }: Pick<JobContext, 'db' | 'published' | 'signal'>,
  starts: Iterable<Identity>,
) {
  const pause = pausing(signal);
  const recordings = alikeRecordings(starts);
  const others = new Map<string, Seen>();
  const leads = new Set<Sighting>();
  const parts = new Map<string, FoundPart>();
  const sought = new Map<IdentifierKind, Set<string>>();
  let searched = { files: 0, rows: 0, bytes: 0 };
  let isSearched = false;
  const take = (place: SeenPlace, key: string, row: Sighting): void => {
    if (isOfRecording(row)) recordings.take(place, row);
    else if (!others.has(key)) others.set(key, { ...row, place });
  };
  const unsought = (kind: IdentifierKind, values: readonly string[]): string[] => {
    const before = sought.get(kind) ?? new Set();
    sought.set(kind, new Set([...before, ...values]));
    return values.filter((value) => !before.has(value));
  };
  return {
    /** Takes every row that is about an identity or names it, of published files, of the mirror's recordings and of playlists. */
    search: async (identity: Identity): Promise<void> => {
      const more = identityOf((kind) =>
        kind === 'recording_id' ? recordings.unasked(identity[kind]) : unsought(kind, identity[kind]),
      );
      const isNew = identifierKinds.some((kind) => more[kind].length > 0);
      if (isSearched && !isNew) return;
      isSearched = true;
      const onRow = (part: FoundPart, row: Sighting): void => {
        const name = placeOf(part);
        const known = parts.get(name) ?? part;
        parts.set(name, known);
        const key = keyKind(part.dataset) === 'distinct_id' ? row.distinct_ids[0] : row.person_uuid;
        take(known, `${name} ${key}`, row);
      };
      searched = await searchIdentity(published, more, { signal, onRow });
      const unseen = more.recording_id.filter((id) => !recordings.isSeenAt('recording', id));
      for (const some of findRecordingsInParts(db, { ...more, recording_id: unseen })) {
        for (const row of some) take('recording', '', row);
        await pause();
      }
      for (const some of findListedInParts(db, more)) {
        for (const row of some) take('listed', '', row);
        await pause();
      }
    },
    /** Takes rows that show an e-mail address. */
    takeLeads: (rows: readonly Sighting[]): void => {
      for (const row of rows)
        if (isOfRecording(row)) recordings.take('lead', row);
        else leads.add(row);
    },
    read: () => {
      const { rows, fold, unfold } = recordings.read();
      return { seen: [...others.values(), ...seenIn('lead', [...leads]), ...rows], fold, unfold };
    },
    /** What of the published files was searched. */
    searched: () => searched,
  };
}

function isOfRecording(row: Sighting): row is Sighting & { recording_id: string } {
  return row.recording_id !== null;
}

/** Rows, with the place where they were seen. */
export function seenIn(place: Seen['place'], rows: readonly Sighting[]): Seen[] {
  return rows.map((row) => ({ ...row, place }));
}

/** A person as rows of recordings show it, what rows at each place are, and the texts by the subjects that begin with them. */
type Shown = { person: Sighting; groups: Map<SeenPlace, Group>; texts: Map<string, KeptTexts> };

type Group = { place: SeenPlace; shown: Shown };

/** What alike recordings have in common, and the number of those that are alike with one thing more. */
type Alike = {
  groups: readonly Group[];
  starts: string;
  isAsked: boolean;
  next: Map<Group | number | 'asked', number>;
};

/**
 * Prepares an empty record of rows of recordings, for subjects that begin with these identities. One person can have a million: in memory
 * are the ids, and each kind of row that they stand in once. Recordings are alike where the same subjects begin with them, and they
 * were seen at the same places with the same persons: whatever a closure finds about one of them holds for all, so that it is asked
 * about one.
 */
export function alikeRecordings(starts: Iterable<Identity>) {
  const alike: Alike[] = [{ groups: [], starts: '', isAsked: false, next: new Map() }];
  const numbers = new Map<string, number>();
  const alikeTo = (id: string): Alike => alike[numbers.get(id) ?? 0] as Alike;
  const add = (id: string, more: Group | number | 'asked'): void => {
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
  const shownBy = createPersons();
  const textsOf = keepTexts();
  return {
    /** Takes a row of a recording. A row that was taken before changes nothing. */
    take: (place: SeenPlace, row: Sighting & { recording_id: string }): void => {
      const shown = shownBy(row);
      const group = shown.groups.get(place) ?? { place, shown };
      shown.groups.set(place, group);
      const { groups, starts: begun } = alikeTo(row.recording_id);
      if (groups.includes(group)) return;
      add(row.recording_id, group);
      const texts = shown.texts.get(begun) ?? textsOf(shown.person);
      shown.texts.set(begun, texts);
      texts.keep(row.values, row.left_out);
    },
    isSeenAt: (place: SeenPlace, id: string): boolean => alikeTo(id).groups.some((group) => group.place === place),
    /** The ids among these that were not asked for before. From then on they were. */
    unasked: (ids: readonly string[]): string[] =>
      ids.filter((id) => {
        if (alikeTo(id).isAsked) return false;
        add(id, 'asked');
        return true;
      }),
    read: () => {
      const members: string[][] = alike.map(() => []);
      for (const [id, number] of numbers) members[number]?.push(id);
      const likeIt = new Map(members.flatMap((ids) => (ids[0] === undefined ? [] : [[ids[0], ids] as const])));
      // Rows can have their texts in common: then they have one list of them.
      const lists = new Map<KeptTexts, string[]>();
      return {
        /** One of the recordings that are alike, as a row shows it, for all of them. `values` are texts of all of them. */
        rows: [...likeIt].flatMap(([id, { length }]) => {
          const { groups, starts: begun } = alikeTo(id);
          return groups.flatMap(({ place, shown: { person, texts } }) => {
            const kept = texts.get(begun);
            if (!kept) return [];
            const values = lists.get(kept) ?? [...kept.values];
            lists.set(kept, values);
            return [{ ...person, recording_id: id, values, place, rows: length, kept }];
          });
        }),
        /** An identity with one of each recordings that are alike. */
        fold: (identity: Identity): Identity => ({
          ...identity,
          recording_id: identity.recording_id.filter((id) => likeIt.has(id)),
        }),
        /** An identity with all recordings that are like those that it has. */
        unfold: (identity: Identity): Identity => ({
          ...identity,
          recording_id: identity.recording_id.flatMap((id) => likeIt.get(id) ?? id),
        }),
      };
    },
  };
}

/** Prepares the look-up of what rows show of their persons: rows that show the same have the same one. */
function createPersons(): (row: Sighting) => Shown {
  const known = new Map<string, Shown>();
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

/** Where e-mail addresses are looked for. */
type EmailContext = Pick<JobContext, 'db' | 'published' | 'signal'>;

/**
 * Every row held that shows one of some e-mail addresses (as `emailKey` spells them): of the mirror, of every generation of
 * every published file, and of the quarantine. Reads all of them once, for all addresses. `onlyUnnamed`: of mirror and files, only
 * rows that show no uuid.
 */
export async function findShownEmails(
  { db, published, signal }: EmailContext,
  emails: ReadonlySet<string>,
  onlyUnnamed = false,
): Promise<Sighting[]> {
  if (emails.size === 0) return [];
  const pause = pausing(signal);
  const mirrored: Sighting[] = [];
  for (const some of findEmails(db, emails, { onlyUnnamed })) {
    mirrored.push(...some);
    await pause();
  }
  return [
    ...mirrored,
    ...findQuarantined(db, nobody, emails).map(({ sure }) => sure),
    ...(await locateEmails(published, emails, { onlyUnnamed, signal })),
  ];
}

/**
 * The same rows, if some of them show an address without uuid and integer id, and no row where none does. Then all rows
 * are needed: they tell which persons have had the address. Rarely reads more than the recordings that show no uuid.
 */
export async function findNamelessRows(context: EmailContext, emails: ReadonlySet<string>): Promise<Sighting[]> {
  const unnamed = await findShownEmails(context, emails, true);
  const shown = new Set(unnamed.filter(isNameless).flatMap(({ email }) => email ?? []));
  return findShownEmails(context, shown);
}

/** The persons, by uuid, that rows show with each e-mail address. */
export function holdersIn(rows: readonly Sighting[]): Map<string, string[]> {
  const holders = new Map<string, string[]>();
  for (const { email, person_uuid: uuid } of rows)
    if (email !== undefined && uuid !== null) holders.set(email, [...(holders.get(email) ?? []), uuid]);
  return holders;
}
