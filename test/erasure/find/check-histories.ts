import { expect } from 'vitest';
import { nobody, unionOf, type Identity } from '../../../src/contract/identity.ts';
import { boxOf, type GivenIdentifier } from '../../../src/erasure/request/box.ts';
import { scopeSubjects, type Scope } from '../../../src/erasure/find/scope.ts';
import { whereIs } from '../../../src/erasure/find/where.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import { textsLeft } from '../find-texts.ts';
import { playHistories, wordsIn, type Lived } from './histories.ts';
import { readKeptRows, type KeptRow } from './kept-rows.ts';

/** How much was really done. */
export type Tally = Record<
  'histories' | 'lookedUp' | 'shared' | 'erased' | 'rowsKept' | 'rowsGone' | 'wordsGone',
  number
>;

/** An identifier that kept rows show, those rows, and the persons that it names, by uuid. */
type Lookup = { given: GivenIdentifier; name: string; rows: readonly KeptRow[]; named: ReadonlySet<string> };

/**
 * Plays histories in one world, and looks every person up by each identifier and e-mail address that any kept row shows. Then
 * it erases a third of them by any one of these, and compares what is left with what was there: row by row, and in all bytes.
 */
export async function checkHistories(seed: number, persons: number): Promise<Tally> {
  const lived = await playHistories(seed, persons);
  const tally: Tally = { histories: 0, lookedUp: 0, shared: 0, erased: 0, rowsKept: 0, rowsGone: 0, wordsGone: 0 };
  tally.histories = lived.played.length;
  const rows = await readKeptRows(lived.world.dataDir);
  const known = knowledgeOf(lived, rows);
  await checkFound(lived, known, tally);
  await checkErased(lived, rows, known, tally);
  await lived.world.close();
  return tally;
}

type Knowledge = {
  lookups: Lookup[];
  /** The persons that service or mirror have now. */
  living: ReadonlySet<string>;
  /** Whether an identifier is a distinct id that no person has, neither at the service nor in the mirror. */
  isUnowned: (given: GivenIdentifier) => boolean;
  /** The person that has a distinct id at the service. */
  ownerOf: (distinctId: string) => string | undefined;
  /** The persons that any kept row shows with an address. */
  holdersOf: (address: string) => ReadonlySet<string>;
  /** The persons of all rows that are reached from an identifier, from row to row. */
  connectedTo: (name: string) => ReadonlySet<string>;
};

function knowledgeOf({ world, addressOf }: Lived, rows: readonly KeptRow[]): Knowledge {
  const atService = [...world.sandbox.living()];
  const inMirror = rows.filter(({ place }) => place === 'mirror persons');
  const owners = new Map(
    atService.flatMap(({ uuid, distinct_ids: ids }) => ids.map((id): [string, string] => [id, uuid])),
  );
  const mirrored = new Map(
    inMirror.flatMap(({ uuid, distinctIds }) => distinctIds.map((id): [string, string] => [id, uuid ?? ''])),
  );
  const byName = new Map<string, { given: GivenIdentifier; rows: KeptRow[] }>();
  const namesOf = new Map<KeptRow, string[]>();
  for (const row of rows) {
    const shown: GivenIdentifier[] = [
      ...(row.uuid === null ? [] : [{ kind: 'uuid' as const, value: row.uuid }]),
      ...(row.id === null ? [] : [{ kind: 'id' as const, value: row.id }]),
      ...row.distinctIds.map((value) => ({ kind: 'distinct_id' as const, value })),
      ...(row.recordedUnder === null || row.recordedUnder === 'anonymous'
        ? []
        : [{ kind: 'distinct_id' as const, value: row.recordedUnder }]),
      ...(row.email === undefined ? [] : [{ kind: 'email' as const, value: row.email }]),
    ];
    const names = new Set<string>();
    for (const given of shown) {
      const name = `${given.kind} ${given.kind === 'email' ? addressOf(given.value) : given.value}`;
      if (names.has(name)) continue;
      names.add(name);
      const seen = byName.get(name);
      if (seen) seen.rows.push(row);
      else byName.set(name, { given, rows: [row] });
    }
    namesOf.set(row, [...names]);
  }
  const uuidsIn = (some: readonly KeptRow[]): Set<string> => new Set(some.flatMap(({ uuid }) => uuid ?? []));
  const namedBy = ({ kind, value }: GivenIdentifier, shown: readonly KeptRow[]): Set<string> => {
    if (kind === 'uuid') return new Set([value]);
    const owner = kind === 'distinct_id' ? (owners.get(value) ?? mirrored.get(value)) : undefined;
    return owner === undefined ? uuidsIn(shown) : new Set([owner]);
  };
  return {
    lookups: [...byName].map(([name, { given, rows: shown }]) => ({
      given,
      name,
      rows: shown,
      named: namedBy(given, shown),
    })),
    living: new Set([...atService.map(({ uuid }) => uuid), ...uuidsIn(inMirror)]),
    isUnowned: ({ kind, value }) => kind === 'distinct_id' && !owners.has(value) && !mirrored.has(value),
    ownerOf: (distinctId) => owners.get(distinctId),
    holdersOf: (address) => uuidsIn(byName.get(`email ${address}`)?.rows ?? []),
    connectedTo: (start) => {
      const names = new Set([start]);
      const uuids = new Set<string>();
      for (const name of names)
        for (const row of byName.get(name)?.rows ?? []) {
          if (row.uuid !== null) uuids.add(row.uuid);
          for (const other of namesOf.get(row) ?? []) names.add(other);
        }
      return uuids;
    },
  };
}

/** Looks every identifier up. Those that have nothing to do with each other are looked up together. */
async function checkFound(lived: Lived, known: Knowledge, tally: Tally): Promise<void> {
  const rounds: { lookups: Lookup[]; uuids: Set<string> }[] = [];
  for (const lookup of known.lookups) {
    const uuids = known.connectedTo(lookup.name);
    let round = rounds.find((each) => areApart(each.uuids, uuids) && uuids.size > 0);
    if (!round) rounds.push((round = { lookups: [], uuids: new Set() }));
    round.lookups.push(lookup);
    for (const uuid of uuids) round.uuids.add(uuid);
  }
  for (const { lookups } of rounds) {
    const subjects = lookups.map(({ given, name }) => ({ id: name, given: [given], identity: nobody, shown: null }));
    const { scopes } = await lived.world.look((context) => scopeSubjects(context, subjects));
    for (const lookup of lookups) checkScope(lookup, scopes.get(lookup.name), lived, known);
    tally.lookedUp += lookups.length;
    tally.shared += [...scopes.values()].filter(({ isShared }) => isShared).length;
  }
}

function checkScope(lookup: Lookup, scope: Scope | undefined, { addressOf }: Lived, known: Knowledge): void {
  const { name, rows, named } = lookup;
  const { living, holdersOf, connectedTo } = known;
  const found = new Set(scope?.identity.person_uuid);
  const connected = connectedTo(name);
  const sorted = (uuids: Iterable<string>): string[] => [...uuids].toSorted();
  const isLiving = (uuid: string): boolean => living.has(uuid);
  // The named persons are found, and no other living person. A distinct id that nobody has now is that of its last owner: the
  // request is held, and names the living persons that had it before.
  const hadBefore = new Set(scope?.isShared === true && known.isUnowned(lookup.given) ? scope.sharedWith : []);
  expect([name, scope?.isFound, sorted(found).filter(isLiving)]).toEqual([
    name,
    true,
    sorted(named).filter((uuid) => isLiving(uuid) && (found.has(uuid) || !hadBefore.has(uuid))),
  ]);
  expect([name, sorted(without(found, connected, named))]).toEqual([name, []]);
  // Each person that is shown with it is the subject, or a living person that makes the request be held.
  const shown = new Set(rows.flatMap(({ uuid }) => uuid ?? []));
  const told = new Set([...(scope?.sharedWith ?? []), ...(scope?.personsNamed ?? [])]);
  expect([name, sorted(without(shown, found, told))]).toEqual([name, []]);
  const livingConnected = [...connected].filter(isLiving);
  if (named.size === 1 && isWithin(livingConnected, named)) expect([name, scope?.isShared]).toEqual([name, false]);
  // Every row that is the subject's is counted where it stands.
  const own = rows.filter(({ uuid, email }) =>
    uuid === null ? email !== undefined && isWithin(holdersOf(addressOf(email)), found) : found.has(uuid),
  );
  const hits = new Map(
    scope?.files.map(({ dataset, snapshotId, name: part, rows: count }) => [`${dataset}/${snapshotId}/${part}`, count]),
  );
  const files = Map.groupBy(
    own.filter(({ part }) => part !== null),
    ({ place, part }) => `${place}/${part}`,
  );
  for (const [file, { length }] of files)
    expect([name, file, (hits.get(file) ?? 0) >= length]).toEqual([name, file, true]);
}

async function checkErased(lived: Lived, before: readonly KeptRow[], known: Knowledge, tally: Tally): Promise<void> {
  const { world, random, owners, nameless, unsettled, addressOf } = lived;
  const { living, lookups, holdersOf } = known;
  const atService = new Set([...world.sandbox.living()].map(({ uuid }) => uuid));
  const asked: Lookup[] = [];
  for (const uuid of lived.played) {
    const candidates = lookups.filter(({ named }) => named.has(uuid));
    if (candidates.length > 0 && random.oneIn(3)) asked.push(random.pick(candidates));
  }
  const distinct = [...new Set(asked)];
  for (let from = 0; from < distinct.length;) {
    const some = distinct.slice(from, (from += random.int(1, 4)));
    const added = await world.request(some.map(({ given }) => given));
    for (const { state } of added) expect(['scoped', 'held']).toContain(state);
  }
  for (let round = 1; round <= 3; round += 1) {
    await world.approveHeld();
    await world.reconcile();
  }
  const after = new Map((await readKeptRows(world.dataDir)).map((row) => [`${row.place} ${row.key}`, row]));
  const erased = identityOfErased(lived);
  const connected = new Set(distinct.flatMap(({ name }) => [...known.connectedTo(name)]));
  const gone = new Set([
    ...distinct.flatMap((lookup) => [...lookup.named]),
    ...erased.person_uuid,
    // Persons that live nowhere any more, and have left one row, have to leave every row.
    ...before.flatMap(({ uuid, place, key }) =>
      uuid !== null && !living.has(uuid) && connected.has(uuid) && !after.has(`${place} ${key}`) ? uuid : [],
    ),
  ]);
  const named = new Set(distinct.flatMap((lookup) => [...lookup.named]));
  const isGone = (uuid: string): boolean => gone.has(uuid);
  // At the service, the named persons are gone, and all others are there.
  const left = new Set([...world.sandbox.living()].map(({ uuid }) => uuid));
  expect(without(atService, left).toSorted()).toEqual([...atService].filter((uuid) => named.has(uuid)).toSorted());
  const isAtService = (uuid: string): boolean => atService.has(uuid);
  expect([...gone].filter(isAtService).toSorted()).toEqual([...named].filter(isAtService).toSorted());
  tally.erased += gone.size;

  const ids = new Set([
    ...erased.distinct_id,
    // A request that was settled at once keeps nothing.
    ...before
      .filter(({ uuid }) => uuid !== null && isGone(uuid))
      .flatMap(({ distinctIds, recordedUnder }) => distinctIds.concat(recordedUnder ?? []))
      .filter((id) => gone.has(known.ownerOf(id) ?? '') || known.ownerOf(id) === undefined),
  ]);
  const wasOthers = [...ids].filter((id) => {
    const owner = known.ownerOf(id);
    return owner !== undefined && !gone.has(owner);
  });
  expect(wasOthers).toEqual([]);
  const integerIds = new Set(
    before.flatMap(({ uuid, id }) => (uuid !== null && id !== null && isGone(uuid) ? id : [])),
  );
  const isOfGone = (word: string): boolean => {
    const uuids = lived.owners.get(word) ?? new Set();
    return uuids.size > 0 && [...uuids].every(isGone);
  };
  const wrong: unknown[] = [];
  for (const row of before) {
    const name = `${row.place} ${row.key}`;
    const holders = row.email === undefined ? new Set<string>() : holdersOf(addressOf(row.email));
    const shows = [...row.distinctIds, row.recordedUnder ?? ''];
    const isOnlyEmail = row.uuid === null && row.id === null && row.email !== undefined;
    if (row.uuid !== null ? isGone(row.uuid) : isOnlyEmail && holders.size > 0 && isWithin(holders, gone)) {
      tally.rowsGone += 1;
      if (after.has(name)) wrong.push(['is left', name, row.textWithout(new Set())]);
      continue;
    }
    const isTouched =
      row.uuid === null
        ? !areApart(holders, gone) || shows.some((id) => ids.has(id)) || integerIds.has(row.id ?? '')
        : ids.has(row.recordedUnder ?? '') || (row.place.startsWith('distinct_ids') && ids.has(row.key));
    // A quarantined row without any id is an erased person's where a text of that person alone stands in it.
    const isByText =
      row.place === 'mirror quarantine' && row.uuid === null && wordsIn(row.textWithout(new Set())).some(isOfGone);
    if (isTouched || isByText || (row.place === 'mirror persons' && unsettled.has(row.uuid ?? ''))) continue;
    tally.rowsKept += 1;
    // A row that loses the name of an erased person has changed, and says when.
    const isChanged = row.distinctIds.some((id) => ids.has(id));
    const [was, is] = [row, after.get(name)].map((each) => each?.textWithout(ids, isChanged));
    if (is !== was) wrong.push(['is changed', name, was, is]);
  }
  expect(wrong).toEqual([]);
  const words = [...owners].filter(([, uuids]) => [...uuids].every(isGone)).map(([word]) => word);
  const ofNameless = nameless.filter(({ address, under }) => {
    const [ownWord = ''] = wordsIn(under);
    const byEmail = holdersOf(address);
    const byId = owners.get(ownWord) ?? new Set();
    return [byEmail, byId].some((some) => some.size > 0 && isWithin(some, gone));
  });
  const texts = [...words, ...ofNameless.map(({ word }) => word)].flatMap((word) => [word, word.toUpperCase()]);
  tally.wordsGone += texts.length / 2;
  expect(await textsLeft(world.dataDir, texts)).toEqual([]);
  await world.syncAndPublish();
  expect(await textsLeft(world.dataDir, texts)).toEqual([]);
  const again = (await readKeptRows(world.dataDir)).filter(({ uuid }) => uuid !== null && isGone(uuid));
  expect(again.map(({ place, key }) => `${place} ${key}`)).toEqual([]);
  for (const { given, name, rows } of distinct.slice(0, 5)) {
    const isLeft = rows.some((row) => after.has(`${row.place} ${row.key}`));
    if (isLeft) continue;
    const { whereabouts } = await world.look((context) => whereIs(context, [given]));
    // The fence knows no addresses.
    const isTold = whereabouts.requests.length > 0 || given.kind === 'email';
    expect([name, whereabouts.places, isTold]).toEqual([name, [], true]);
  }
}

function without(some: Iterable<string>, ...others: ReadonlySet<string>[]): string[] {
  return [...some].filter((each) => !others.some((other) => other.has(each)));
}

function isWithin(some: Iterable<string>, all: ReadonlySet<string>): boolean {
  return without(some, all).length === 0;
}

function areApart(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return without(some, others).length === some.size;
}

/** The identifiers of all subjects, as their requests keep them. */
function identityOfErased({ world }: Lived): Identity {
  const db = world.db();
  const removed = db
    .prepare<[], string>(
      `SELECT key FROM deletions WHERE dataset = 'persons' AND (request_id IS NOT NULL OR reason = 'deleted')`,
    )
    .pluck()
    .all();
  return unionOf([
    { ...nobody, person_uuid: removed },
    ...listRequests(db, 'all').flatMap(({ id }) => boxOf({ db, settings: world }, id)?.identity ?? []),
  ]);
}
