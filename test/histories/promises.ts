import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { recordOrder } from '../../docs/verifier/verify.mjs';
import { jsonOf } from '../cli/run-cli.ts';
import { findTexts } from '../erasure/find-texts.ts';
import type { Done } from './machine.ts';
import { load, readWarehouse } from './readers.ts';
import { entriesMax, isRecordingListed, passTime, showAll } from './service.ts';
import type { Asked, World } from './world.ts';

// The sentences of README, as a machine can hold them against what happened. They know the service, what the operator asked for, and
// what stands in the folder. Of the program they believe its exit codes, its lists of requests and what it prints for readers.

/** A promise that was broken. */
class Fault extends Error {}

/** What really happened in all histories, so that a run that looked at nothing shows. */
export type Tally = Record<
  | 'histories'
  | 'crowded'
  | 'moves'
  | 'commands'
  | 'killed'
  | 'erased'
  | 'certificates'
  | 'loaded'
  | 'entries'
  | 'removals'
  | 'recordingsDeleted'
  | 'withoutLights',
  number
>;

export function newTally(): Tally {
  return {
    histories: 0,
    crowded: 0,
    moves: 0,
    commands: 0,
    killed: 0,
    erased: 0,
    certificates: 0,
    loaded: 0,
    entries: 0,
    removals: 0,
    recordingsDeleted: 0,
    withoutLights: 0,
  };
}

/** `atService`, `recordings`: what became of the person and of the known recordings there; `isTakenOut`: whether its known recordings are no longer in playlists. */
type Request = {
  state: string;
  origin: string;
  isVerified: number;
  atService: string | null;
  isTakenOut: number;
  recordings: string | null;
};

/** What a request says of a person that the service no longer has. */
const goneWords: readonly (string | null | undefined)[] = ['deleted', 'already_absent', 'absent'];

/** What stands in the mirror, as far as a promise is about it. */
export type Mirrored = {
  persons: Map<string, { ids: string[]; properties: string }>;
  /** When each began. */
  recordings: Map<string, string>;
  entries: Map<string, null>;
  requests: Map<string, Request>;
  /** How large the ledger is. */
  ledgerBytes: number;
  /** Whether a fence rose before any pass over the persons was complete: then times tell who came after it. */
  isBlind: boolean;
};

/** Whether nothing more is done for a request in such a state. */
export function hasEnded(state: string): boolean {
  return ['sealed', 'cancelled', 'refused'].includes(state);
}

/** What is to be known before a command. */
export function lookBefore({ machine: { dataDir } }: World): Mirrored {
  const mirrored: Mirrored = {
    persons: new Map(),
    recordings: new Map(),
    entries: new Map(),
    requests: new Map(),
    ledgerBytes: 0,
    isBlind: false,
  };
  mirrored.ledgerBytes = statSync(entriesPath(ledgerFolder(dataDir)), { throwIfNoEntry: false })?.size ?? 0;
  const path = join(dataDir, 'mirror.db');
  if (!existsSync(path)) return mirrored;
  const db = new Sqlite(path, { readonly: true });
  try {
    const tables = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all();
    if (!tables.includes('erasure_requests')) return mirrored;
    type Row = { uuid: string; ids: string; properties: string };
    const sql = `SELECT uuid, distinct_ids AS ids, properties FROM persons`;
    for (const { uuid, ids, properties } of db.prepare<[], Row>(sql).all())
      mirrored.persons.set(uuid, { ids: JSON.parse(ids) as string[], properties });
    const recordings = db.prepare<[], { id: string; start: string }>(`SELECT id, start_time AS start FROM recordings`);
    for (const { id, start } of recordings.all()) mirrored.recordings.set(id, start);
    for (const id of db.prepare<[], string>(`SELECT recording_id FROM playlist_recordings`).pluck().all())
      mirrored.entries.set(id, null);
    const requests = `SELECT id, state, origin, verified_at IS NOT NULL AS isVerified, atService.result AS atService,
        inPlaylists.result IN ('removed', 'not_applicable') AS isTakenOut, recordings.result AS recordings
      FROM erasure_requests
      LEFT JOIN erasure_targets AS atService ON atService.request_id = id AND atService.target = 'upstream.person'
      LEFT JOIN erasure_targets AS recordings ON recordings.request_id = id AND recordings.target = 'upstream.recordings'
      LEFT JOIN erasure_targets AS inPlaylists ON inPlaylists.request_id = id AND inPlaylists.target = 'upstream.playlists'`;
    for (const row of db.prepare<[], Request & { id: string }>(requests).all()) mirrored.requests.set(row.id, row);
    mirrored.isBlind = db.prepare(`SELECT 1 FROM fence WHERE seen_pass IS NULL LIMIT 1`).get() !== undefined;
    return mirrored;
  } finally {
    db.close();
  }
}

/** Whoever was let in again is mirrored as the service has them. What it shows of them since is no longer what was erased. */
export function comeBack({ asked, service: { state } }: World): void {
  const shown = JSON.stringify([...state.persons.values(), ...state.recordings.values()]);
  for (const each of asked.filter(({ isVoid }) => isVoid))
    each.erasedWords = each.erasedWords.filter(({ text }) => !shown.includes(text));
}

/** The promises that hold after every single command. */
export async function checkAfter(world: World, before: Mirrored, done: Done): Promise<void> {
  passTime(world.service);
  const after = lookBefore(world);
  for (const id of after.entries.keys()) world.seenEntries.add(id);
  for (const each of world.asked)
    if (!each.wasSealed && each.ids.some((id) => after.requests.get(id)?.state === 'sealed'))
      Object.assign(each, { wasSealed: true, erasedWords: world.words.filter(({ name }) => each.names.has(name)) });
  comeBack(world);
  noDeleteUnasked(world);
  noRowLostThatLives(world, before, after);
  if (!done.isKilled) endsAreTold(world, before, after, done);
  if (done.args[1] === 'drill' && !done.isKilled && done.code !== 0 && world.touched.length === 0)
    throw new Fault(`a drill ends with ${done.code}, and nobody has touched the folder: ${done.stdout.slice(0, 1500)}`);
  if (done.args[0] === 'sync' && !done.isKilled) completeMeansAll(done);
  ledgerIsInOrder(world);
  if (done.args[0] === 'load') await warehouseIsPublished(world, done);
  else if (done.args[0] === 'export') await readersHoldOneMoment(world, after, done);
  else if (done.args[0] === 'reconcile' && !done.isKilled) {
    await othersStay(world);
    await verifiedIsGone(world, after);
    await callsAreStatusToo(world, done);
  }
  // Whoever erases changes what is published.
  else if (done.args[0] !== 'sync') world.lake.loaded = undefined;
}

/** *A page, and a `status`, that name the cause*: what reconcile leaves to an operator is a light that is on. */
async function callsAreStatusToo({ machine }: World, done: Done): Promise<void> {
  if (done.code !== 4) return;
  const { erasure, absence } = jsonOf(done) as { erasure: Record<string, number>; absence: { held: unknown[] } };
  const calls = Number(erasure['held']) + Number(erasure['attention']) + absence.held.length;
  if (calls > 0 && (await machine.run(['status', '--check'])).code === 0)
    throw new Fault('reconcile calls for an operator, and status says that all is well');
}

/** *No DELETE for a person whom no open request names.* */
function noDeleteUnasked({ deletions, removals, deletedRecordings }: World): void {
  const wrong = deletions.find(({ isAsked }) => !isAsked);
  if (wrong) throw new Fault(`a person whom nobody asks to erase was deleted at the service: ${wrong.person.uuid}`);
  const recording = deletedRecordings.find(({ isAsked }) => !isAsked);
  if (recording) throw new Fault(`a recording of nobody who asks was deleted at the service: ${recording.id}`);
  const removed = removals.find(({ isAsked }) => !isAsked);
  if (removed) throw new Fault(`a recording of nobody who asks was taken out of a playlist: ${removed.id}`);
}

/** *No one is deleted by mistake*: who lives at the service, and is asked out by nobody, does not leave the mirror. */
function noRowLostThatLives(world: World, before: Mirrored, after: Mirrored): void {
  const { state, away } = world.service;
  const { persons, recordings } = state;
  for (const uuid of before.persons.keys())
    if (
      !after.persons.has(uuid) &&
      persons.has(uuid) &&
      !away.has(uuid) &&
      !world.isAskedOut(uuid) &&
      !isOld(world, uuid)
    )
      throw new Fault(`a living person whom nobody asks to erase has left the mirror: ${uuid}`);
  for (const [id, start] of before.recordings) {
    if ((after.recordings.get(id) ?? start) > start) throw new Fault(`a recording has lost its beginning: ${id}`);
    const recording = away.has(id) ? undefined : recordings.get(id);
    const isHere = recording && isOfSomebodyHere(world, recording.distinctId) && !isOld(world, recording.distinctId);
    if (!after.recordings.has(id) && isHere)
      throw new Fault(`a recording that is there, of nobody who asked, has left the mirror: ${id}`);
    if (before.entries.has(id) && !after.entries.has(id) && isHere && state.collected.includes(id))
      throw new Fault(`an entry of a playlist that is there, of nobody who asked, has left the mirror: ${id}`);
  }
}

/**
 * Whether a copy that was put back may have rows of before the erasure of somebody who was let in again since: they leave, and the next
 * pass stores what the service has.
 */
function isOld({ touched, asked }: World, name: string): boolean {
  const isPutBack = touched.some((part) => part.includes('mirror'));
  return isPutBack && asked.some(({ isVoid, names }) => isVoid && names.has(name));
}

/** Recordings go with whom somebody asks to erase, and with whom others have deleted at the service. */
function isOfSomebodyHere(world: World, distinctId: string): boolean {
  const isAway = [...world.service.away].some((uuid) => world.truth.isSame(uuid, distinctId));
  return !isAway && !world.isAskedOut(distinctId) && !world.isDeparted(distinctId);
}

/** A request ends by its end or by the operator's word. Where it is given up, the command that does so says it by its code. */
function endsAreTold(world: World, before: Mirrored, after: Mirrored, { args, code }: Done): void {
  const isOperators = (id: string): boolean =>
    (args[0] === 'erase' && args[1] !== 'approve') || world.asked.some(({ ids, isVoid }) => isVoid && ids.includes(id));
  for (const [id, { state, origin, atService }] of after.requests) {
    const was = before.requests.get(id)?.state ?? state;
    if (was === state || code !== 0 || origin === 'upstream' || isOperators(id)) continue;
    if (state === 'cancelled') throw new Fault(`a request was given up, and ${args[0]} ended with 0: it was ${was}`);
    if (state === 'sealed' && !goneWords.includes(atService))
      throw new Fault(`a request has ended with ${atService} at the service, and ${args[0]} ended with 0`);
  }
  // A mirror that was put back hears of earlier ones, too.
  const isReceived =
    after.ledgerBytes > before.ledgerBytes && [...after.requests.keys()].some((id) => !before.requests.has(id));
  if (args[1] === 'add' && code !== 0 && code !== 4 && isReceived)
    throw new Fault(`erase add ended with ${code}, and has received a request`);
}

type Pass = { dataset: string; verdict: string; windows: number; countReported: number | null; rowsDistinct: number };

/** *A pass proves its completeness or says that it could not.* On one page, count and rows are of one moment. */
function completeMeansAll(done: Done): void {
  if (done.code !== 0) return;
  for (const pass of (jsonOf(done) as { passes: Pass[] }).passes) {
    const { dataset, verdict, windows, countReported, rowsDistinct } = pass;
    if (verdict === 'complete' && windows === 1 && (countReported ?? rowsDistinct) !== rowsDistinct)
      throw new Fault(`a pass of ${dataset} is complete with ${rowsDistinct} rows of ${countReported}`);
  }
}

/**
 * *A reader who does as documented holds what the mirror holds*: at the moment of the newest export or, after one that was killed, of
 * the one before. A lake keeps all that was ever loaded, and deletes whom `deletions` names with a request.
 */
async function readersHoldOneMoment(world: World, after: Mirrored, { args, code, isKilled }: Done): Promise<void> {
  const { lake } = world;
  if (code !== 0 && !isKilled) {
    // Something may be published all the same.
    lake.loaded = undefined;
    return;
  }
  const loaded = await load(world.machine);
  if (!loaded) return;
  // An export of some datasets leaves the playlists as they were published before.
  const isPart = args.includes('persons');
  const now = keysOf(after, isPart);
  const text = keysOf(loaded, isPart);
  if (text !== now && !(isKilled && text === (lake.loaded ? keysOf(lake.loaded, isPart) : text)))
    throw new Fault(`the printed statements show ${text}, where the mirror has ${now}`);
  if (world.isMasked)
    for (const row of loaded.persons.values())
      if (row.includes('@')) throw new Fault(`a masked address is published: ${row}`);
  for (const key of [...loaded.persons.keys(), ...loaded.recordings.keys()]) lake.keys.add(key);
  for (const { key } of loaded.erased) lake.keys.delete(key);
  lake.loaded = loaded;
  lake.isLate ||= world.nowMs - lake.loadedMs > feedMs;
  lake.loadedMs = world.nowMs;
}

/** Who runs `load` has in the warehouse what is published. */
async function warehouseIsPublished({ machine }: World, { code }: Done): Promise<void> {
  const published = code === 0 ? await load(machine) : undefined;
  if (!published) return;
  const loaded = await readWarehouse(machine.warehouse);
  for (const table of ['persons', 'recordings', 'entries'] as const) {
    const [rows, own] = [published, loaded].map((all) => JSON.stringify([...all[table]]));
    if (rows !== own) throw new Fault(`after load, the ${table} of the warehouse are ${own}, and published is ${rows}`);
  }
}

/** A reader who stays away for longer than rows stay in `deletions` has to load all anew. */
const feedMs = 25 * 86_400_000;

type Rows = Record<'persons' | 'recordings' | 'entries', ReadonlyMap<string, unknown>>;

function keysOf({ persons, recordings, entries }: Rows, isPart: boolean): string {
  const all = [persons, recordings, ...(isPart ? [] : [entries])];
  return JSON.stringify(all.map((rows) => [...rows.keys()].toSorted()));
}

/**
 * An erasure changes no published row of anybody else: who lives at the service and is asked out by nobody is published as before. Who
 * came back after a deletion by others is no longer the one who was published.
 */
async function othersStay(world: World): Promise<void> {
  const { lake, service, machine } = world;
  const before = lake.loaded;
  const now = before && (await load(machine));
  lake.loaded = now;
  if (!before || !now) return;
  for (const [uuid, row] of before.persons)
    if (
      service.state.persons.has(uuid) &&
      !service.away.has(uuid) &&
      !world.isAskedOut(uuid) &&
      !world.departed.includes(uuid) &&
      now.persons.get(uuid) !== row
    )
      throw new Fault(`reconcile has changed what is published of somebody else: ${row} is ${now.persons.get(uuid)}`);
  for (const [id, row] of before.recordings) {
    const recording = service.away.has(id) ? undefined : service.state.recordings.get(id);
    if (recording && isOfSomebodyHere(world, recording.distinctId) && now.recordings.get(id) !== row)
      throw new Fault(`reconcile has changed a published recording of somebody else: ${row}`);
  }
}

/** *Anyone can check*: whatever stands on the ledger stands there in an order that its rules allow. */
function ledgerIsInOrder({ machine: { dataDir }, touched }: World): void {
  if (touched.length > 0) return;
  const order = recordOrder();
  for (const { seq, at: _at, ...record } of readLedger(dataDir).entries()) {
    const finding = order(record);
    if (finding !== undefined) throw new Fault(`entry ${seq} of the ledger: ${finding}`);
  }
}

type Run = (args: readonly string[]) => Promise<Done>;

const dayMs = 86_400_000;

/**
 * The promises that hold at last: the service answers as it is, the clocks are right, the operator does for some weeks what the
 * documentation says, and then looks at every light.
 */
export async function checkAtEnd(world: World, run: Run, tally: Tally): Promise<void> {
  const { service, machine, touched } = world;
  Object.assign(service, { proxy: 'none', aheadMs: 0 });
  showAll(service);
  machine.aheadMs = 0;
  const wasWell = touched.length > 0 && (await lookAtAll(run)).isWell;
  let last: Done[] = [];
  // What is collected is held a week later at the latest, and goes on once it is approved.
  for (const days of [0, 0.1, 0.1, 8, 8, 8, 8]) {
    const open = openIn(lookBefore(world));
    if (open.length === 0 && last.length > 0 && last.every(isSettled)) break;
    world.nowMs += days * dayMs;
    if (open.some(({ state }) => state === 'held')) await run(['erase', 'approve', '--all']);
    last = [await run(['sync']), await run(['reconcile'])];
  }
  // With a new mirror, the page on restoring says to keep none of the files of the former one.
  const keepsNone = touched.some((part) => part.includes('mirror'));
  last.push(await run(['sync']), await run(['export', ...(keepsNone ? ['--set', 'export.keep=1'] : [])]));
  const { isQuiet, isWell } = await lookAtAll(run);
  if (wasWell && !isWell)
    throw new Fault('doctor and audit verify were content, and the program’s own work has changed that');
  if (touched.length === 0 && !isWell && last.every(({ code }) => code === 0))
    throw new Fault('doctor or audit verify is not content, and nobody has touched the folder');
  const failed = last.find(({ code }) => code === 1);
  if (failed && touched.length === 0)
    throw new Fault(`${failed.args[0]} fails, and nobody has touched the folder: ${failed.stderr.slice(-300)}`);
  tally.certificates += await certificatesAreTrue(world);
  // Nobody has to look at the proofs to be told.
  if (!isQuiet || last.some(({ code }) => code !== 0)) return;
  tally.withoutLights += 1;
  const mirrored = lookBefore(world);
  everybodyIsThere(world, mirrored);
  for (const { isVoid, ids, known } of world.asked)
    if (!isVoid && ids.length > 0 && ids.every((id) => mirrored.requests.get(id)?.state === 'refused'))
      for (const uuid of known)
        if (mirrored.persons.has(uuid))
          throw new Fault(`who was known when asked out was refused, and is here: ${uuid}`);
  for (const { state } of openIn(mirrored)) throw new Fault(`a request is ${state} for weeks, and no light is on`);
  const ended = world.asked.filter(({ isVoid, isForgotten, wasSealed }) => !isVoid && !isForgotten && wasSealed);
  const isGone = (id: string): boolean => goneWords.includes(mirrored.requests.get(id)?.atService);
  tally.erased += ended.length;
  if (ended.length > 0)
    await nothingIsLeft(
      world,
      ended,
      ended.filter(({ ids }) => ids.some(isGone)),
    );
  tally.loaded += world.lake.keys.size;
}

/** Whether a pass or a reconciliation has ended well, and no row waits to be asked for again. */
function isSettled(done: Done): boolean {
  if (done.code !== 0) return false;
  const { absence } = jsonOf(done) as { absence: { asked: number; waiting: number } };
  return absence.asked + absence.waiting === 0;
}

/** Whether doctor is content, and whether the proofs are, too. */
async function lookAtAll(run: Run): Promise<{ isQuiet: boolean; isWell: boolean }> {
  const isQuiet = (await run(['doctor'])).code === 0;
  return { isQuiet, isWell: (await run(['audit', 'verify'])).code === 0 && isQuiet };
}

function openIn({ requests }: Pick<Mirrored, 'requests'>): Request[] {
  return [...requests.values()].filter(({ state }) => !hasEnded(state));
}

/** *Who lives at the service and is asked out by nobody is in the mirror after the next complete pass, or a line says why not.* */
function everybodyIsThere(world: World, mirrored: Mirrored): void {
  const { persons, recordings } = world.service.state;
  for (const { uuid, distinctIds, properties } of persons.values()) {
    if (world.isAskedOut(uuid)) continue;
    const row = mirrored.persons.get(uuid);
    if (!row) throw new Fault(`a living person is not in the mirror, and no light is on: ${uuid}`);
    if (distinctIds.some((id) => !row.ids.includes(id)) || row.properties !== JSON.stringify(properties))
      throw new Fault(`a living person is mirrored otherwise than the service shows it, and no light is on: ${uuid}`);
  }
  for (const { id, distinctId } of recordings.values())
    if (isRecordingListed(world.service, id) && isOfSomebodyHere(world, distinctId) && !mirrored.recordings.has(id))
      throw new Fault(`a recording is not in the mirror, and no light is on: ${id}`);
  for (const uuid of mirrored.persons.keys())
    if (!persons.has(uuid)) throw new Fault(`a person who is gone is in the mirror, and no light is on: ${uuid}`);
  entriesAreThere(world, mirrored);
}

/** A live service tells of all entries of a playlist, where they are few and their recordings are there. */
function entriesAreThere(world: World, { entries }: Mirrored): void {
  const { isLive, state } = world.service;
  if (!isLive || state.collected.length > entriesMax || state.collected.some((id) => !state.recordings.has(id))) return;
  for (const id of state.collected)
    if (isOfSomebodyHere(world, state.recordings.get(id)?.distinctId ?? '') && !entries.has(id))
      throw new Fault(`an entry of a playlist is not in the mirror, and no light is on: ${id}`);
  for (const id of entries.keys())
    if (!state.collected.includes(id))
      throw new Fault(`an entry that is no longer in the playlist is in the mirror, and no light is on: ${id}`);
}

/** An erasure that is verified here has left nothing in the data folder, whatever the service says of it. */
async function verifiedIsGone(world: World, { requests }: Mirrored): Promise<void> {
  const { asked, touched } = world;
  if (touched.some((part) => part !== 'mirror' && part !== 'snapshots')) return;
  const verified = asked.filter(({ isVoid, ids }) => !isVoid && ids.some((id) => requests.get(id)?.isVerified === 1));
  // Where the program cannot know of a merge, whoever was merged is a deletion of its own, and is held for an operator. What only a lost
  // mirror knew, nobody knows until the published files are those of the new one.
  const isHeld = openIn({ requests }).some(({ origin, isVerified }) => origin === 'upstream' && isVerified === 0);
  const isUnknown = isHeld || touched.includes('mirror');
  const isLeft = (name: string): boolean => isUnknown && world.merged.some(({ loser }) => loser === name);
  if (verified.length > 0) await nothingIsHere(world, verified, 'is verified', isLeft);
  if (touched.includes('snapshots')) return;
  const old = asked.filter(({ isVoid }) => isVoid).flatMap(({ erasedWords }) => erasedWords);
  if (old.length > 0) await noneIsHere(world, old, 'was erased before the person was let in again');
}

/** Tells the names of erased people. Where only times tell who came after them, who is shown as older than it is may be let in. */
function erasedBy(world: World, erased: readonly Asked[]): (name: string) => boolean {
  const { isBlind } = lookBefore(world);
  return (name) => !(isBlind && world.late.has(name)) && erased.some(({ names }) => names.has(name));
}

/** No text of erased people is in any file of the data folder. */
async function nothingIsHere(
  world: World,
  erased: readonly Asked[],
  why: string,
  isLeft: (name: string) => boolean = () => false,
): Promise<void> {
  const isTheirs = erasedBy(world, erased);
  const theirs = world.words.filter(({ name }) => isTheirs(name) && !isLeft(name));
  await noneIsHere(world, theirs, why);
}

async function noneIsHere({ machine: { dataDir } }: World, theirs: World['words'], why: string): Promise<void> {
  const found = await findTexts(
    dataDir,
    theirs.map(({ text }) => text),
  );
  for (const [text, places] of found)
    if (places.length > 0) throw new Fault(`${text} of an erased person stands in ${places.join(', ')}, and ${why}`);
}

/** *Nothing of an erased person is in any file when no light is on*; nor at the service; nor in a lake that does as documented. */
async function nothingIsLeft(world: World, ended: readonly Asked[], deleted: readonly Asked[]): Promise<void> {
  const isErased = erasedBy(world, ended);
  await nothingIsHere(world, ended, 'no light is on');
  const { persons } = world.service.state;
  const { requests } = lookBefore(world);
  for (const { names, atMs } of deleted)
    for (const { uuid, bornMs } of persons.values())
      if (bornMs < atMs && names.has(uuid) && !world.unlisted.has(uuid))
        throw new Fault(`an erased person lives at the service, and no light is on: ${uuid}`);
  const { collected } = world.service.state;
  const takenOut = ended.filter(({ ids }) => ids.some((id) => requests.get(id)?.isTakenOut === 1));
  for (const id of collected.filter((each) => world.seenEntries.has(each)))
    if (takenOut.some(({ names }) => names.has(world.recordedBy.get(id) ?? '')))
      throw new Fault(`a recording of an erased person is in a playlist, and no light is on: ${id}`);
  const areGone = (id: string): boolean => ['deleted', 'absent'].includes(requests.get(id)?.recordings ?? '');
  for (const { names, recordings } of world.wasRestored ? [] : ended.filter((each) => each.ids.every(areGone)))
    for (const id of recordings)
      if (names.has(world.recordedBy.get(id) ?? '') && world.service.state.recordings.has(id))
        throw new Fault(`a recording of an erased person is at the service, and no light is on: ${id}`);
  for (const key of world.lake.isLate ? [] : world.lake.keys)
    if (isErased(key)) throw new Fault(`the lake still has a row of an erased person: ${key}`);
}

/** *A certificate that verifies is true now, or called superseded*: whoever it is about does not live at the service as before. */
async function certificatesAreTrue({ service, machine, asked, unlisted }: World): Promise<number> {
  const back = asked.filter(({ names, atMs }) =>
    [...service.state.persons.values()].some(
      ({ uuid, bornMs }) => names.has(uuid) && bornMs < atMs && !unlisted.has(uuid),
    ),
  );
  for (const id of back.flatMap(({ ids }) => ids)) {
    const { code, stdout } = await machine.run(['audit', 'certificate', id, '--format', 'json']);
    if (code !== 0) continue;
    const { targets } = JSON.parse(stdout) as { targets: { target: string; result: string }[] };
    if (targets.some(({ target, result }) => target === 'upstream.person' && goneWords.includes(result)))
      throw new Fault(`a certificate stands, and the person lives at the service as before: request ${id}`);
  }
  return back.length;
}
