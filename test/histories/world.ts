import { copyOf, holderOf, openService, uuidOf, type Deletion, type Person, type Service } from './service.ts';
import { openMachine, type Done, type Machine, type Mask, type OnDone } from './machine.ts';
import type { Loaded } from './readers.ts';

/** What an operator has asked for: which people are meant, and whether it still stands by the operator's own word. */
export type Asked = {
  /** The requests' ids; none where the command was killed, so that nobody knows. */
  ids: string[];
  /** The people whom it means, by uuid. Who signs up with its address while it is open is meant, too. */
  people: string[];
  /** Those of them whom the mirror had when they asked. */
  known: string[];
  /** The address that it names, in lower case. */
  email: string | undefined;
  /** The integer id that it names. A service that was restored may give it to somebody else: then an operator decides. */
  id: number | undefined;
  /** All names of theirs that the program could know when they asked. */
  names: Set<string>;
  isVoid: boolean;
  /** Whether an operator has said who is not meant. */
  isApproved: boolean;
  /** Whether it has ever ended as done, and whether an older ledger, put back since, has never had it. */
  wasSealed: boolean;
  /** What they had written by then; of those let in again, what the service has not shown since. */
  erasedWords: Word[];
  isForgotten: boolean;
  atMs: number;
  /** The recordings that the mirror had when they asked. */
  recordings: string[];
};

/** What one person has ever written or been called: a text that nobody else has. */
type Word = { text: string; name: string };

/** Names, uuids and distinct ids, of which some mean one person. */
type Names = { join: (a: string, b: string) => void; isSame: (a: string, b: string) => boolean };

/** The truth, which no file of the program tells: who is who, and what was asked for. */
export type World = {
  nowMs: number;
  service: Service;
  isMasked: boolean;
  machine: Machine;
  asked: Asked[];
  words: Word[];
  /** Every distinct id that a device has ever had. */
  distinctIds: string[];
  /** Who is shown as older than it is, by distinct id and uuid: who came by an event that was sent late, or was merged with an older one. */
  late: Set<string>;
  /** Whom the service has left out of its lists at some time, by uuid: a pass cannot know of them. */
  unlisted: Set<string>;
  deletions: (Deletion & { isAsked: boolean })[];
  /** Recordings that the program has taken out of the playlist, and whether their people asked for it, or were deleted there by others. */
  removals: { id: string; isAsked: boolean }[];
  /** Recordings that the program has deleted by their ids, and whether their people asked for it, or are gone. */
  deletedRecordings: { id: string; isAsked: boolean }[];
  /** The distinct id of each recording that ever was. */
  recordedBy: Map<string, string>;
  /** Recordings that the mirror has had as entries of the playlist, since they were put there last. */
  seenEntries: Set<string>;
  /** Copies of the service's rows, and what was done to the machine's folder from outside. */
  kept: ReturnType<typeof copyOf>[];
  /** Whether one of them was put back. */
  wasRestored: boolean;
  touched: string[];
  /** Which requests there were at each backup of the machine's folder, and whether they still stood. */
  askedAtBackup: ReadonlyMap<Asked, { isVoid: boolean }>[];
  done: Done[];
  /** What a reader has loaded and not deleted since, and what was published at the last export. */
  lake: { keys: Set<string>; loaded: Loaded | undefined; loadedMs: number; isLate: boolean };
  /** Who is one person in truth, whether anybody can know it or not. */
  truth: Names;
  /** Who was merged into whom, by uuid. */
  merged: { loser: string; survivor: string }[];
  /** Who was taken out of the service by others, by uuid. */
  departed: string[];
  /** Whether a name is of somebody who was taken out of the service by others. The recordings of those go with them. */
  isDeparted: (name: string) => boolean;
  /** Whether people who asked for it, and still do, are meant by a name: a uuid or a distinct id. */
  isAskedOut: (name: string) => boolean;
};

const startMs = Date.parse('2026-11-18T09:00:00.000Z');
const hourMs = 3_600_000;

/**
 * How a service is: like live ones or as documented, with three people, and with a crowd beside them, a third of which has a
 * recording. Some batches of the program are of 1,000 rows. `mask`: how addresses are published.
 */
export type Kind = { isLive: boolean; crowd: number; mask: Mask };

/** A service of a kind, and a machine that has seen nothing yet. */
export async function openWorld(kind: Kind, onDone?: OnDone): Promise<World> {
  const { isLive, crowd, mask } = kind;
  const clock = { nowMs: startMs };
  const service = await openService(() => clock.nowMs, isLive);
  const world: World = {
    get nowMs() {
      return clock.nowMs;
    },
    set nowMs(ms) {
      clock.nowMs = ms;
    },
    service,
    isMasked: mask !== 'none',
    machine: openMachine(service.url, clock, kind, onDone),
    asked: [],
    words: [],
    distinctIds: [],
    late: new Set(),
    unlisted: new Set(),
    deletions: [],
    removals: [],
    deletedRecordings: [],
    recordedBy: new Map(),
    seenEntries: new Set(),
    kept: [],
    wasRestored: false,
    touched: [],
    askedAtBackup: [],
    done: [],
    lake: { keys: new Set(), loaded: undefined, loadedMs: startMs, isLate: false },
    truth: newNames(),
    merged: [],
    departed: [],
    isDeparted: (name) => world.departed.some((one) => world.truth.isSame(one, name)),
    isAskedOut: (name) =>
      world.asked.some(({ people, isVoid }) => !isVoid && people.some((one) => world.truth.isSame(one, name))),
  };
  service.onDelete = (deletion) =>
    void world.deletions.push({ ...deletion, isAsked: world.isAskedOut(deletion.person.uuid) });
  service.onRemove = (id) => {
    const distinctId = world.recordedBy.get(id) ?? '';
    world.removals.push({ id, isAsked: world.isAskedOut(distinctId) || world.isDeparted(distinctId) });
  };
  service.onDeleteRecording = (id) => {
    const distinctId = world.recordedBy.get(id) ?? '';
    const isLeft = world.isDeparted(distinctId) && holderOf(service.state, distinctId) === undefined;
    const isAsked = world.isAskedOut(distinctId) || isLeft;
    world.deletedRecordings.push({ id, isAsked });
  };
  for (let each = 0; each < 3 + crowd; each += 1) {
    // The first have the companies of the last: what rows of others excuse can stand in the last row that is read.
    const person = signUp(world, undefined, crowd === 0 ? undefined : `Firm${each % crowd}.example`);
    if (each % 3 === 0 && each > 3) record(world, person, each);
  }
  return world;
}

function newNames(): Names {
  const leaders = new Map<string, string>();
  const leaderOf = (name: string): string => {
    const leader = leaders.get(name) ?? name;
    return leader === name ? name : leaderOf(leader);
  };
  return { join: (a, b) => void leaders.set(leaderOf(a), leaderOf(b)), isSame: (a, b) => leaderOf(a) === leaderOf(b) };
}

/**
 * The names of a person that nobody may find in any file once the person is erased: of all who were merged into it, and of
 * whoever comes back under one of them; but nobody who is a person of its own again. `mirrored`: the distinct ids that the mirror has
 * of it.
 */
export function namesOf(
  { merged, service: { state } }: World,
  { uuid, distinctIds }: Person,
  mirrored: readonly string[],
): Set<string> {
  const ids = [...distinctIds, ...mirrored];
  const names = new Set([uuid, ...ids, ...ids.map(uuidOf)]);
  for (const name of names)
    for (const { loser, survivor } of merged) if (survivor === name && !state.persons.has(loser)) names.add(loser);
  return names;
}

/** A word that stands nowhere else. */
export function newWord(world: World, name: string): string {
  const text = `canary${world.words.length}x${(world.words.length * 7919 + 104_729) % 1_000_000}`;
  world.words.push({ text, name });
  return text;
}

function add(world: World, person: Omit<Person, 'id' | 'bornMs'>): Person {
  const { state } = world.service;
  state.lastId += 1;
  const added = { ...person, id: state.lastId, bornMs: world.nowMs };
  state.persons.set(added.uuid, added);
  if (world.service.selected) world.unlisted.add(added.uuid);
  for (const id of added.distinctIds) world.truth.join(id, added.uuid);
  return added;
}

/** Somebody new signs up, with two distinct ids and an address: an own one, or one that another has, as it is or in capital letters. */
export function signUp(world: World, sharing?: string, company = 'X.example'): Person {
  const first = newWord(world, '');
  const second = newWord(world, '');
  const uuid = uuidOf(first);
  for (const word of world.words.slice(-2)) word.name = word.text;
  world.distinctIds.push(first, second);
  // What two have is nobody's own.
  for (const word of world.words) if (sharing?.startsWith(word.text)) word.name = '';
  const email = sharing ?? `${newWord(world, uuid)}@${company}`;
  const properties = { email, bio: newWord(world, uuid) };
  return add(world, { uuid, createdAtMs: world.service.nowMs(), distinctIds: [first, second], properties });
}

/** A device sends an event: where nobody has its distinct id any more, a person comes (back) into being, and is returned. */
export function sendEvent(world: World, distinctId: string, lateMs: number): Person | undefined {
  const { service } = world;
  if (holderOf(service.state, distinctId)) return undefined;
  const uuid = uuidOf(distinctId);
  const bio = newWord(world, distinctId);
  if (lateMs > 0) for (const name of [distinctId, uuid]) world.late.add(name);
  if (service.state.persons.has(uuid)) return undefined;
  return add(world, { uuid, createdAtMs: service.nowMs() - lateMs, distinctIds: [distinctId], properties: { bio } });
}

/** One person's ids go to another, who is as old as the older of the two. */
export function merge(world: World, loser: Person, survivor: Person): void {
  if (loser === survivor) return;
  world.service.state.persons.delete(loser.uuid);
  // It is shown as older than it is.
  if (loser.createdAtMs < survivor.createdAtMs)
    for (const name of [survivor.uuid, ...survivor.distinctIds]) world.late.add(name);
  survivor.distinctIds.push(...loser.distinctIds);
  survivor.createdAtMs = Math.min(survivor.createdAtMs, loser.createdAtMs);
  world.truth.join(loser.uuid, survivor.uuid);
  world.merged.push({ loser: loser.uuid, survivor: survivor.uuid });
}

/** Every distinct id but the first becomes a person of its own, without properties. `isOld`: as old as before. */
export function split(world: World, person: Person, isOld: boolean): void {
  const { service } = world;
  for (const distinctId of person.distinctIds.splice(1)) {
    const uuid = uuidOf(distinctId);
    if (service.state.persons.has(uuid)) {
      person.distinctIds.push(distinctId);
      continue;
    }
    const createdAtMs = isOld ? person.createdAtMs : service.nowMs();
    add(world, { uuid, createdAtMs, distinctIds: [distinctId], properties: {} });
    world.truth.join(uuid, person.uuid);
  }
}

/** A session of a person was recorded: of a minute or, with an odd number, of the last twenty hours. */
export function record(world: World, person: Person, nth: number): void {
  const { service } = world;
  const distinctId = person.distinctIds[nth % person.distinctIds.length] ?? '';
  const id = uuidOf(`recording ${world.words.length}`);
  const url = `https://x.example/${newWord(world, distinctId)}`;
  world.recordedBy.set(id, distinctId);
  const endMs = service.nowMs();
  const startMs = endMs - (nth % 2 === 0 ? 60_000 : 20 * hourMs);
  const expiresMs = service.isLive ? startMs + service.keepDays * 24 * hourMs : Infinity;
  service.state.recordings.set(id, { id, distinctId, startMs, endMs, expiresMs, goneMs: Infinity, url });
}

/** Others delete a person at the service. */
export function depart(world: World, person: Person): void {
  world.service.state.persons.delete(person.uuid);
  world.departed.push(person.uuid);
}

/** The service puts a backup of its rows back; people who came since are gone, and numbers are given again. */
export function restoreService(world: World, nth: number): void {
  const kept = world.kept[nth % Math.max(1, world.kept.length)];
  if (!kept) return;
  world.wasRestored = true;
  const { persons } = world.service.state;
  world.service.state = copyOf(kept);
  world.seenEntries.clear();
  for (const uuid of persons.keys()) if (!kept.persons.has(uuid)) world.departed.push(uuid);
}
