import { jsonOf } from '../cli/run-cli.ts';
import type { Done, OnDone, Part } from './machine.ts';
import { killPointOf, type Kill, type Move } from './moves.ts';
import { checkAfter, checkAtEnd, comeBack, hasEnded, lookBefore, type Mirrored, type Tally } from './promises.ts';
import { copyOf, isListed, showAll, standStill, type Person } from './service.ts';
import {
  depart,
  merge,
  namesOf,
  newWord,
  openWorld,
  record,
  restoreService,
  sendEvent,
  signUp,
  split,
  type Asked,
  type Kind,
  type World,
} from './world.ts';

const hourMs = 3_600_000;

/**
 * Plays a history on the real program, and adds to the tally. `onDone` hears of each command. Rejects with the promise that it
 * breaks.
 */
export async function play(kind: Kind, moves: readonly Move[], tally: Tally, onDone?: OnDone): Promise<void> {
  const world = await openWorld(kind, onDone);
  try {
    for (const move of moves) await make(world, move);
    await checkAtEnd(world, (args) => command(world, args), tally);
    tally.histories += 1;
    if (kind.crowd > 0) tally.crowded += 1;
    tally.moves += moves.length;
    tally.entries += world.seenEntries.size;
    tally.removals += world.removals.length;
    tally.recordingsDeleted += world.deletedRecordings.length;
    tally.commands += world.done.length;
    tally.killed += world.done.filter(({ isKilled }) => isKilled).length;
  } finally {
    await world.service.close();
    world.machine.close();
  }
}

/** Runs a command and holds what it did against the promises. */
async function command(world: World, args: readonly string[], kill: Kill = null): Promise<Done> {
  const before = lookBefore(world);
  for (const asked of world.asked) if (isOpen(asked, before)) meanAll(world, asked);
  for (const asked of world.asked) if (isUnfenced(asked, before)) learn(world, asked, before);
  comeBack(world);
  const done = await world.machine.run([...args, '--json'], killPointOf(kill));
  world.done.push(done);
  if (args[1] === 'approve' && !done.isKilled && done.code === 0) approve(world, before, done);
  await checkAfter(world, before, done);
  return done;
}

function isOpen({ ids }: Asked, { requests }: Mirrored): boolean {
  return ids.length === 0 || ids.some((id) => !hasEnded(requests.get(id)?.state ?? ''));
}

function isUnfenced({ ids }: Asked, { requests }: Mirrored): boolean {
  return ids.some((id) => ['received', 'scoped', 'held'].includes(requests.get(id)?.state ?? ''));
}

/**
 * Until a request is fenced, whoever asks the service learns all names that the person has there, if no operator has said who is meant.
 * Whom both the service and the mirror show as a person of its own by then, after a split, is somebody else.
 */
function learn(world: World, { names, people, isApproved }: Asked, { persons }: Mirrored): void {
  if (isDarkened(world)) return;
  const isShown = (uuid: string): boolean => names.has(uuid) && !world.service.away.has(uuid);
  const asked = isApproved ? [] : people.filter(isShown);
  const meant = asked.flatMap((uuid) => world.service.state.persons.get(uuid) ?? []);
  for (const each of meant) for (const name of namesOf(world, each, persons.get(each.uuid)?.ids ?? [])) names.add(name);
  for (const { uuid, distinctIds } of world.service.state.persons.values())
    if (!people.includes(uuid) && distinctIds.every((id) => persons.get(uuid)?.ids.includes(id)))
      for (const name of [uuid, ...distinctIds]) names.delete(name);
}

/** Whether a question gets no answer of the service's own. */
function isDarkened({ service: { proxy } }: World): boolean {
  return proxy !== 'none' && proxy !== 'lost';
}

function meanAll({ service }: World, { email, people }: Asked): void {
  if (email === undefined) return;
  for (const { uuid, properties } of service.state.persons.values())
    if (properties['email']?.toLowerCase() === email && !people.includes(uuid)) people.push(uuid);
}

/**
 * Whoever approves a request means everybody who has the integer id that it names. Of the others who have its distinct ids, at the
 * service or in the mirror, the approval says that they are somebody else.
 */
function approve({ asked, service }: World, { persons }: Mirrored, done: Done): void {
  const { approved } = jsonOf(done) as { approved: string[] };
  const others = new Map([...service.state.persons.values()].map(({ uuid, distinctIds }) => [uuid, distinctIds]));
  for (const [uuid, { ids }] of persons) others.set(uuid, [...(others.get(uuid) ?? []), ...ids]);
  for (const each of asked.filter(({ ids }) => ids.some((id) => approved.includes(id)))) {
    const { names, people, id: given } = each;
    each.isApproved = true;
    for (const { uuid, id } of service.state.persons.values()) if (id === given) people.push(uuid);
    for (const [uuid, ids] of others) if (!people.includes(uuid)) for (const name of [uuid, ...ids]) names.delete(name);
  }
}

type Act<M> = (world: World, move: M) => unknown;

/** What each move does. */
const acts: { [What in Move['do']]: Act<Extract<Move, { do: What }>> } = {
  'sign up': (world) => signUp(world),
  'sign up again': (world, { who }) => {
    const { email } = pick(world, who)?.properties ?? {};
    if (email !== undefined) signUp(world, who % 2 === 0 ? email : email.toUpperCase());
  },
  record: (world, { who }) => {
    const person = pick(world, who);
    if (person) record(world, person, who);
  },
  change: (world, { who }) => {
    const person = pick(world, who);
    if (person) person.properties['bio'] = newWord(world, person.uuid);
  },
  'change address': (world, { who }) => {
    const person = pick(world, who);
    if (person) person.properties['email'] = `${newWord(world, person.uuid)}@x.example`;
  },
  delete: (world, { who }) => {
    const person = pick(world, who);
    if (person) depart(world, person);
  },
  split: (world, { who, isOld }) => {
    const person = pick(world, who);
    if (person) split(world, person, isOld);
  },
  merge: (world, { who, into }) => {
    const [loser, survivor] = [pick(world, who), pick(world, into)];
    if (loser && survivor) merge(world, loser, survivor);
  },
  event: (world, { who, lateHours }) => {
    const name = world.distinctIds[(who * 7) % world.distinctIds.length];
    if (name !== undefined) sendEvent(world, name, lateHours * hourMs);
  },
  'log in': (world, { who, into }) => {
    const [name, survivor] = [world.distinctIds[(who * 7) % world.distinctIds.length], pick(world, into)];
    const back = name === undefined ? undefined : sendEvent(world, name, 0);
    if (back && survivor) merge(world, back, survivor);
  },
  'hide person': ({ service, unlisted }, { who, isCounted }) => {
    const uuid = nthOf(service.state.persons.keys(), who) ?? '';
    service.hidden.set(uuid, { isCounted });
    unlisted.add(uuid);
  },
  'hide recording': ({ service }, { who, isCounted }) =>
    service.hidden.set(nthOf(service.state.recordings.keys(), who) ?? '', { isCounted }),
  'move person': ({ service }, { who }) => service.away.add(nthOf(service.state.persons.keys(), who) ?? ''),
  'move recording': ({ service }, { who }) => service.away.add(nthOf(service.state.recordings.keys(), who) ?? ''),
  collect: ({ service: { state }, seenEntries }, { who }) => {
    const id = nthOf(state.recordings.keys(), who);
    if (id === undefined) return;
    seenEntries.delete(id);
    state.collected = [id, ...state.collected.filter((each) => each !== id)];
  },
  'take out': ({ service: { state } }, { who }) => {
    const id = nthOf(state.collected, who);
    state.collected = state.collected.filter((each) => each !== id);
  },
  'show all': ({ service }) => showAll(service),
  'stand still': ({ service }) => standStill(service),
  misplace: ({ service, unlisted }, { who, hours }) => {
    const uuid = nthOf(service.state.persons.keys(), who) ?? '';
    if (!service.isLive) return;
    service.misplaced.set(uuid, hours * hourMs);
    unlisted.add(uuid);
  },
  retain: ({ service }, { days }) => Object.assign(service, { keepDays: days }),
  proxy: ({ service }, { kind }) => Object.assign(service, { proxy: kind }),
  'keep rows': ({ service, kept }) => kept.push(copyOf(service.state)),
  'restore rows': (world, { nth }) => restoreService(world, nth),
  'service clock': ({ service }, { minutes }) => Object.assign(service, { aheadMs: minutes * 60_000 }),
  'machine clock': ({ machine }, { hours }) => Object.assign(machine, { aheadMs: hours * hourMs }),
  pass: (world, { days }) => {
    world.nowMs += days * 24 * hourMs;
  },
  'back up': ({ machine, askedAtBackup, asked }) => {
    machine.backUp();
    askedAtBackup.push(new Map(asked.map((each) => [each, { isVoid: each.isVoid }])));
  },
  restore: (world, { part, nth }) => {
    const { machine } = world;
    const backups = machine.backups();
    if (backups === 0 || !machine.restore(part, (nth % backups) + 1)) return;
    touch(world, part);
    if (part.endsWith('ledger')) forget(world, world.askedAtBackup[nth % backups]);
  },
  lose: (world, { part }) => {
    if (world.machine.restore(part, null)) touch(world, part);
  },
  sync: (world, { of, isHead, kill }) =>
    command(world, ['sync', ...(of ? [of] : []), ...(isHead === true ? ['--mode', 'head'] : [])], kill),
  load: (world, { kill }) => command(world, ['load', '--into', world.machine.warehouse], kill),
  reconcile: (world, { kill }) => command(world, ['reconcile'], kill),
  export: (world, { kind, isPart, kill }) =>
    command(world, ['export', ...(isPart ? ['persons', 'recordings'] : []), '--kind', kind], kill),
  request: (world, move) => request(world, move),
  approve: (world) => command(world, ['erase', 'approve', '--all']),
  cancel: (world, move) => decide(world, move, (asked) => [asked]),
  // Who is let in again is let in again by each request that names the same, unless the command says of one that it stands, and it
  // is about somebody else. What others say of who was split off is not judged.
  readmit: (world, move) =>
    decide(world, move, (asked, done) => {
      for (const other of world.asked) other.isForgotten ||= meansSame(world, other, asked);
      const { fenced_by_others: fencing } = jsonOf(done) as { fenced_by_others: string[] };
      const stands = ({ ids, people }: Asked): boolean =>
        ids.some((id) => fencing.includes(id)) && !people.some((each) => asked.people.includes(each));
      // It keeps out a distinct id, and not the person.
      for (const { names } of world.asked.filter(stands)) for (const name of asked.names) names.delete(name);
      const others = world.asked.filter((other) => namesSame(other, asked) && !stands(other));
      // An address is of several people: whoever of them is not let in stays out.
      const isLetIn = (one: string): boolean => asked.people.some((each) => world.truth.isSame(one, each));
      const standing = others.filter(({ people }) => !people.every(isLetIn));
      for (const other of standing) {
        other.people = other.people.filter((one) => !isLetIn(one));
        for (const name of asked.names) other.names.delete(name);
      }
      return others.filter((other) => !standing.includes(other));
    }),
  'rotate key': (world) => command(world, ['audit', 'rotate-key']),
  drill: (world, { kill }) => command(world, ['erase', 'drill'], kill),
};

async function make(world: World, move: Move): Promise<void> {
  // Nothing happens at the very moment of something else.
  world.nowMs += 1000;
  await (acts[move.do] as Act<Move>)(world, move);
}

/** An older ledger does not know what an operator has said since. */
function forget({ asked }: World, known: World['askedAtBackup'][number] | undefined): void {
  for (const each of asked) {
    each.isForgotten ||= known?.has(each) !== true;
    each.isVoid &&= known?.get(each)?.isVoid === true;
  }
}

/** Somebody has changed a part of the folder from outside. */
function touch(world: World, part: Part): void {
  world.touched.push(part);
  // The feed of deletions goes with the mirror. Whoever has copies loads all anew then.
  world.lake.isLate ||= part.includes('mirror');
  world.lake.loaded = undefined;
}

/** One of what there is, by a number. */
function nthOf<T>(some: Iterable<T>, nth: number): T | undefined {
  const all = [...some];
  return all[nth % Math.max(1, all.length)];
}

function pick({ service }: World, who: number): Person | undefined {
  return nthOf(service.state.persons.values(), who);
}

const authority = ['--basis', 'objection', '--by', 'dpo'];

async function request(world: World, { who, by, kill }: Extract<Move, { do: 'request' }>): Promise<void> {
  const person = pick(world, who);
  if (!person) return;
  const { uuid, id, distinctIds, properties } = person;
  const { email } = properties;
  const lower = email?.toLowerCase();
  const value = { uuid, id: String(id), distinct_id: nthOf(distinctIds, who), email, 'lower email': lower }[by];
  if (value === undefined) return;
  const asked: Asked = {
    ids: [],
    people: [uuid],
    email: by.endsWith('email') ? lower : undefined,
    id: by === 'id' ? id : undefined,
    known: [],
    names: new Set(),
    isVoid: false,
    isApproved: false,
    wasSealed: false,
    erasedWords: [],
    isForgotten: false,
    atMs: world.nowMs,
    recordings: [],
  };
  meanAll(world, asked);
  const { persons, recordings } = lookBefore(world);
  asked.known = asked.people.filter((each) => persons.has(each));
  // While it is being received it may be believed. How the command ends tells whether it was.
  const meant = asked.people.flatMap((each) => world.service.state.persons.get(each) ?? []);
  // A service compares letter by letter, among those whom it lists. It is asked for an address as given, in lower case, and in every
  // spelling that was seen.
  const spellings = [value, asked.email, ...[...persons.values()].map(({ properties: seen }) => emailIn(seen))];
  const isFound = ({ uuid: each, properties: { email: own } }: Person): boolean =>
    asked.email === undefined || persons.has(each) || (isListed(world.service, each) && spellings.includes(own));
  for (const each of meant.filter(isFound)) {
    const mirrored = persons.get(each.uuid)?.ids ?? [];
    // Of a service that is down, or behind a proxy that answers itself, nobody learns more than the mirror has. Nor of whom it does not show.
    const isDark = isDarkened(world) || world.service.away.has(each.uuid);
    if (isDark && by === 'distinct_id' && !mirrored.includes(value)) continue;
    const known = isDark ? [each.uuid, ...mirrored] : namesOf(world, each, mirrored);
    for (const name of known) asked.names.add(name);
  }
  const isTheirs = (recording: string): boolean => asked.names.has(world.recordedBy.get(recording) ?? '');
  asked.recordings = [...recordings.keys()].filter(isTheirs);
  world.asked.push(asked);
  const done = await command(
    world,
    ['erase', 'add', `--${by.replace('_', '-').replace('lower ', '')}`, value, ...authority],
    kill,
  );
  if (done.isKilled) return;
  if (done.code !== 0 && done.code !== 4) asked.isVoid = true;
  else {
    const { requests } = jsonOf(done) as { requests: { id: string; state: string }[] };
    asked.ids = requests.map(({ id }) => id);
    asked.isVoid = requests.every(({ state }) => state === 'refused');
  }
}

function emailIn(properties: string): string | undefined {
  return (JSON.parse(properties) as Person['properties'])['email'];
}

/** Ends a request by the operator's word: `voided` are those that no longer stand if the command ends well. */
async function decide(
  world: World,
  { do: what, nth }: Extract<Move, { do: 'cancel' | 'readmit' }>,
  voided: (asked: Asked, done: Done) => readonly Asked[],
): Promise<void> {
  const asked = nthOf(world.asked, nth);
  const id = asked?.ids[0];
  if (!asked || id === undefined) return;
  const done = await command(world, ['erase', what, id, ...(what === 'readmit' ? ['--reason', 'TICKET-1'] : [])]);
  if (done.code === 0) for (const each of voided(asked, done)) each.isVoid = true;
}

function namesSame(a: Asked, b: Asked): boolean {
  return a === b || [...a.people, ...a.names].some((name) => b.names.has(name) || b.people.includes(name));
}

function meansSame(world: World, a: Asked, b: Asked): boolean {
  return a.people.some((one) => b.people.some((other) => world.truth.isSame(one, other)));
}
