import type { Amounts } from '../generator/fill-store.ts';
import type { RecordingStyle } from '../generator/recording.ts';
import { randomFor } from '../generator/seeded-random.ts';
import type { Window } from '../store/persons.ts';
import type { Store } from '../store/store.ts';

/** How a live service is set up. */
export type LiveOptions = {
  /** The most rows of a page, whatever limit is asked for. */
  personsLimitMax: number;
  recordingsLimitMax: number;
  /** Recordings that started longer ago are gone. */
  retentionDays: number;
  /** How many ghosts a list has, as a share of its rows. */
  ghostShare: number;
  /** How many ghosts stand in a row, once for each 5,000 persons begun, in lists of at least 500; 0 for none. */
  ghostRun: number;
  /** After how many requests a change is made that the service has only accepted. */
  actsAfterRequests: number;
  /** The most recordings of a playlist that are shown: `limit` and `offset` are ignored. */
  playlistRecordingsMax: number;
  /** Whether keys may read and delete the entries of playlists. Before December 2025 every key got a 403. */
  playlistEntriesForKeys: boolean;
  /** Whether a recording is deleted by its id, for keys with `session_recording:write`. */
  deletesRecordings: boolean;
  /** Whether keys may delete many recordings in one call. Otherwise every key gets a 403. */
  bulkDeletesRecordings: boolean;
};

export const liveDefaults: LiveOptions = {
  personsLimitMax: 500,
  recordingsLimitMax: 200,
  retentionDays: 30,
  ghostShare: 0.03,
  ghostRun: 200,
  actsAfterRequests: 3,
  playlistRecordingsMax: 50,
  playlistEntriesForKeys: true,
  deletesRecordings: true,
  bulkDeletesRecordings: false,
};

const limitDefault = 100;
/** The window that is served. A limit above the maximum is lowered silently. */
export function clampedWindow(
  { limit = limitDefault, offset = 0 }: { limit?: number | undefined; offset?: number | undefined },
  limitMax: number,
): Window {
  return { limit: Math.min(limit, limitMax), offset };
}

/** The number of days before now in which recordings start. */
const recordedDays = 28;

/** Recordings of a live service: they start in the days before now, and their ids may be any text. */
export function liveRecordings(now: () => number): RecordingStyle {
  return {
    startMicros: (random) => now() * 1000 - random.int(1, recordedDays * 86_400_000_000),
    id: (random) => (random.oneIn(2) ? random.uuid() : random.pick(idForms)(random.uuid())),
  };
}

const idLengthMax = 200;

/** Forms of ids. Each id is unique by the uuid in it, and at most 200 characters long. */
const idForms: readonly ((uuid: string) => string)[] = [
  (uuid) => `mobile/${uuid}/1`,
  (uuid) => `../../${uuid}/..`,
  (uuid) => `.${uuid}.`,
  (uuid) => `"${uuid}" '; --`,
  (uuid) => `${uuid}?a=1&b=%2F#é`,
  (uuid) => `セッション ${uuid} 👩‍🚀`,
  (uuid) => `C:\\${uuid}\\NUL`,
  (uuid) => uuid.padEnd(idLengthMax, 'x'),
];

const runEveryPersons = 5000;
const runFromPersons = 500;
const crowdDistinctIds = 1100;

/** Adds to a filled store what only a live service has: ghosts, and one person with very many distinct ids. */
export function haunt(
  store: Omit<Store, 'close'>,
  { persons, recordings, seed }: Amounts,
  { ghostShare, ghostRun }: LiveOptions,
  nowMs: number,
): void {
  const random = randomFor('haunt', seed);
  /** The time of any person, so that a ghost stands where a person might. */
  const anyTime = (): number => store.persons.find(random.int(1, persons))?.createdAtMicros ?? 0;
  for (let left = Math.floor(persons * ghostShare); left > 0; left -= 1) store.ghosts.add('persons', anyTime());
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
