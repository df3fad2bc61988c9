import type { UserRecord } from '../store/api-keys.ts';
import {
  distinctIdsOf,
  plainDefaults,
  recordingPersonJson,
  type NewPerson,
  type PersonRow,
} from '../store/person-row.ts';
import type { Store } from '../store/store.ts';
import { generatePerson } from './person.ts';
import { generatePlaylists } from './playlists.ts';
import { generateRecording, type RecordingStyle } from './recording.ts';
import { baseMs, seededRandom, type SeededRandom } from './seeded-random.ts';

/**
 * How much data to generate. Equal amounts and seeds give equal data. `hostile` adds to properties what many programs
 * cannot read: lone surrogates, NUL, integers beyond 64 bits; everything else stays the same.
 */
export type Amounts = { persons: number; recordings: number; seed: number; hostile?: boolean | undefined };

/** Fills a new store with people, their events, recordings, playlists and the organization's users. */
export function fillStore(
  store: Omit<Store, 'close'>,
  { persons, recordings, seed, hostile = false }: Amounts,
  style: RecordingStyle,
): void {
  const random = seededRandom(seed);
  store.settings.set('seed', seed);
  const users = generateUsers(random);
  for (const user of users) store.apiKeys.addUser(user);
  fillPersons(random, store, { count: persons, hostile });
  const viewers = users.map(({ email }) => email);
  const recordingIds = fillRecordings(random, store, viewers, { persons, recordings }, style);
  generatePlaylists(random, store, users, recordingIds);
}

function fillPersons(
  random: SeededRandom,
  store: Omit<Store, 'close'>,
  { count, hostile }: { count: number; hostile: boolean },
): void {
  let person: NewPerson | undefined;
  for (let id = 1; id <= count; id += 1) {
    person = generatePerson(random, id, { previous: person, hostile });
    store.persons.add(person);
    for (let left = random.int(0, 4); left > 0; left -= 1) {
      const distinctId = random.pick(person.distinctIds);
      const atMs = Math.floor(person.createdAtMicros / 1000) + random.int(0, 86_400_000);
      store.events.add({ distinctId, event: random.pick(['$pageview', '$identify', 'purchase']), atMs });
    }
  }
}

/** Returns the ids of the recordings. */
function fillRecordings(
  random: SeededRandom,
  store: Omit<Store, 'close'>,
  viewers: readonly string[],
  { persons, recordings }: { persons: number; recordings: number },
  style: RecordingStyle,
): string[] {
  // Without persons, the recordings show a person who was deleted since: a recording always embeds its person.
  const deleted: PersonRow = {
    ...plainDefaults(1),
    id: 1,
    uuid: random.uuid(),
    name: 'Deleted since',
    createdAtMicros: baseMs * 1000 - 1,
    distinctIds: '["deleted_since"]',
    properties: '{}',
  };
  return Array.from({ length: recordings }, () => {
    const person = store.persons.find(random.int(1, Math.max(1, persons))) ?? deleted;
    const distinctId = random.pick(distinctIdsOf(person));
    const { recording, startMicros } = generateRecording(random, distinctId, viewers, style);
    store.recordings.add(recording, startMicros, recordingPersonJson(person));
    return recording.id;
  });
}

/** The organization's members: keys act in their name, and playlists embed them. */
function generateUsers(random: SeededRandom): UserRecord[] {
  const member = (id: number, first: string, last: string, role: string): UserRecord => ({
    id,
    uuid: random.uuid(),
    distinct_id: random.uuid(),
    first_name: first,
    last_name: last,
    email: `${first.toLowerCase()}@team.example.com`,
    is_email_verified: id !== 3,
    hedgehog_config: id === 1 ? { color: 'blue', accessories: ['glasses'], use_as_profile: true } : {},
    role_at_organization: role,
  });
  return [
    member(1, 'Olivia', 'Öberg', 'engineering'),
    member(2, 'Rafael', 'Núñez', 'data'),
    member(3, 'Mei', '陳', 'product'),
  ];
}
