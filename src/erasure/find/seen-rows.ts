import { setImmediate } from 'node:timers/promises';
import { keyKind } from '../../contract/datasets.ts';
import {
  identifierKinds,
  identityOf,
  type IdentifierKind,
  type Identity,
  type Sighting,
} from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { findRecordingsInParts } from '../../mirror/sightings.ts';
import { placeOf } from '../../snapshot/published-files.ts';
import { searchIdentity, type FoundPart } from '../../snapshot/subject-rows.ts';
import { alikeRecordings, type AlikeRecordings } from './alike-recordings.ts';
import type { KeptTexts } from './kept-texts.ts';

/** A row that was seen, and where: or one for several rows of recordings that are alike. */
export type Seen = Sighting & {
  createdAt?: string | null;
  place: SeenPlace;
  /** How many rows it stands for, if more than itself. */
  rows?: number;
  /** Where the texts of such rows are kept. */
  kept?: KeptTexts;
};

type SeenPlace = 'person' | 'recording' | 'lost' | 'lead' | 'service' | FoundPart;

/** The rows of published files and recordings that were seen so far. */
export type SeenRows = {
  /** Takes every row that is about an identity or names it, of published files and of the mirror's recordings. */
  search: (identity: Identity) => Promise<void>;
  /** Takes rows that show an e-mail address. */
  takeLeads: (rows: readonly Sighting[]) => void;
  read: () => { seen: Seen[] } & Pick<ReturnType<AlikeRecordings<SeenPlace>['read']>, 'fold' | 'unfold'>;
  /** What of the published files was searched. */
  searched: () => { files: number; rows: number; bytes: number };
};

/** Prepares an empty record, for subjects that begin with these identities. What was searched for once is not again. */
export function seenRows(
  { db, published, signal }: Pick<JobContext, 'db' | 'published' | 'signal'>,
  starts: Iterable<Identity>,
): SeenRows {
  const recordings = alikeRecordings<SeenPlace>(starts);
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
    search: async (identity) => {
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
        await setImmediate();
        signal.throwIfAborted();
      }
    },
    takeLeads: (rows) => {
      for (const row of rows)
        if (isOfRecording(row)) recordings.take('lead', row);
        else leads.add(row);
    },
    read: () => {
      const { rows, fold, unfold } = recordings.read();
      return { seen: [...others.values(), ...seenIn('lead', [...leads]), ...rows], fold, unfold };
    },
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
