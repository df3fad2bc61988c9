import { z } from 'zod';
import type { Amounts } from '../generator/fill-store.ts';
import type { RecordingStyle } from '../generator/recording.ts';
import { randomFor } from '../generator/seeded-random.ts';
import { deletionRows } from '../store/events.ts';
import type { Window } from '../store/person-filters.ts';
import type { Store } from '../store/store.ts';

/** No page of a live service has more persons. */
export const personsLimitCut = 50_000;

const count = z.int().min(0);
const share = z.number().min(0).max(1);

/** How a live service is set up: each option with its default and what it does, as `sandbox --live` lists them. */
export const LiveOptions = z.strictObject({
  personsLimitMax: count
    .min(1)
    .max(personsLimitCut)
    .default(500)
    .describe('the most persons of a page, whatever limit is asked for'),
  recordingsLimitMax: count.min(1).default(200).describe('the most recordings of a page, whatever limit is asked for'),
  retentionDays: count.default(30).describe('recordings that started longer ago, in days, are gone'),
  ghostShare: share.default(0.03).describe('how many positions of a list show no row, as a share of its rows'),
  ghostRun: count
    .default(200)
    .describe('how many such positions stand in a row, once for each 5,000 persons begun, from 500 persons on'),
  actsAfterRequests: count
    .default(3)
    .describe('after how many requests a change is made that the service has only accepted'),
  oldestTied: count
    .default(0)
    .describe('how many of the oldest persons were created in one millisecond, as an import does'),
  tieOrder: z
    .enum(['by-uuid', 'anew-on-each-page', 'anew-in-each-selection'])
    .default('by-uuid')
    .describe('how persons of one millisecond stand: by-uuid, anew-on-each-page or anew-in-each-selection'),
  revivesId: z.boolean().default(false).describe('whether a deleted person that returns has its former integer id'),
  refuses: z
    .enum(['nothing', 'other-project', 'members-keys', 'editing'])
    .default('nothing')
    .describe(
      'what is refused with 403 although the key has its scopes: nothing, other-project (the key is of another one), members-keys (by the organization) or editing (by access control)',
    ),
  hidesReturned: z
    .boolean()
    .default(false)
    .describe('whether a person that returned is hidden from lists, and yet answers by its uuid'),
  deletionRows: z
    .enum(deletionRows)
    .default('one_waiting')
    .describe(
      'beside which earlier deletions of a person the service queues one of its events: one_waiting (none that waits), one_ever (none at all) or always; it answers in any case that it has',
    ),
  bulkDeletion: z
    .enum(['queued', 'sync'])
    .default('queued')
    .describe('whether bulk deletion only queues (queued, since September 2026) or deletes before it answers (sync)'),
  queueGivesUp: z
    .boolean()
    .default(false)
    .describe('whether the queue gives up, without a word, the first deletion of each uuid that ends in 0'),
  namesIdsNotFound: z
    .boolean()
    .default(false)
    .describe('whether the answer of bulk deletion names the uuids that no person has'),
  personBatches: z
    .boolean()
    .default(true)
    .describe('whether persons can be asked for by 200 uuids, or 200 distinct ids, in one request'),
  playlistRecordingsMax: count
    .default(50)
    .describe('the most recordings of a playlist that are shown: limit and offset are ignored'),
  playlistEntriesForKeys: z
    .boolean()
    .default(true)
    .describe('whether keys may read and delete the entries of playlists: before December 2025 every key got a 403'),
  deletesRecordings: z
    .boolean()
    .default(true)
    .describe('whether a recording is deleted by its id, for keys with session_recording:write'),
  bulkDeletesRecordings: z
    .boolean()
    .default(false)
    .describe('whether keys may delete many recordings in one call; otherwise every key gets a 403'),
  projectsListed: z
    .boolean()
    .default(false)
    .describe('whether projects are listed to the keys, which a key that is limited to a project is refused with 403'),
});
export type LiveOptions = z.output<typeof LiveOptions>;

export const liveDefaults: LiveOptions = LiveOptions.parse({});

/** The window that is served. A limit above the maximum is lowered silently. */
export function clampedWindow(
  { limit, offset = 0 }: { limit?: number | undefined; offset?: number | undefined },
  limitDefault: number,
  limitMax: number,
): Window {
  return { limit: Math.min(limit ?? limitDefault, limitMax), offset };
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

/**
 * Adds to a filled store what only a live service has: ghosts, persons who were created in one moment, and one person with very
 * many distinct ids.
 */
export function haunt(
  store: Omit<Store, 'close'>,
  { persons, recordings, seed }: Amounts,
  { ghostShare, ghostRun, oldestTied }: LiveOptions,
  nowMs: number,
): void {
  store.lifecycle.tieOldest(oldestTied);
  const random = randomFor('haunt', seed);
  const keys = randomFor('ghosts', seed);
  /** The time of any person, so that a ghost stands where a person might. */
  const anyTime = (): number => store.persons.find(random.int(1, persons))?.createdAtMicros ?? 0;
  for (let left = Math.floor(persons * ghostShare); left > 0; left -= 1)
    store.ghosts.add('persons', anyTime(), keys.uuid());
  for (let run = persons < runFromPersons ? 0 : Math.ceil(persons / runEveryPersons); run > 0; run -= 1) {
    const [atMicros, key] = [anyTime(), keys.uuid()];
    for (let left = ghostRun; left > 0; left -= 1) store.ghosts.add('persons', atMicros, key);
  }
  for (let left = Math.floor(recordings * ghostShare); left > 0; left -= 1) {
    const atMicros = nowMs * 1000 - random.int(0, recordedDays * 86_400_000_000);
    store.ghosts.add('recordings', atMicros, keys.uuid());
  }
  if (persons === 0) return;
  const [newest] = store.recordings.page({ limit: 1, offset: 0 }).documents;
  const distinctId = newest === undefined ? '' : (JSON.parse(newest) as { distinct_id: string }).distinct_id;
  store.lifecycle.addDistinctIds(
    store.lifecycle.ownerOf(distinctId)?.id ?? 1,
    Array.from({ length: crowdDistinctIds }, (_, index) => `crowd_${index}`),
  );
}
