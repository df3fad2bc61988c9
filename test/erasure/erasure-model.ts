import { expect } from 'vitest';
import fc from 'fast-check';
import { boxOf, type GivenIdentifier } from '../../src/erasure/request/box.ts';
import { AppError } from '../../src/core/errors.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { recordOrder } from '../../src/ledger/record-order.ts';
import { listRequests, type ErasureRequest } from '../../src/mirror/erasure-requests.ts';
import { readEpoch } from '../../src/mirror/fence.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { generateRecording, documentedRecordings } from '../../src/sandbox/generator/recording.ts';
import { seededRandom } from '../../src/sandbox/generator/seeded-random.ts';
import { personJson, recordingPersonJson } from '../../src/sandbox/store/person-row.ts';
import { Refusal } from '../../src/sandbox/http/answer.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { anyOperation, type KillPoint } from '../kill/kill-point.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { findTexts } from './find-texts.ts';

/** What can happen next. Persons are picked by a number, out of all who have ever been. */
type Step =
  | { do: 'create' | 'approve' | 'cancel' | 'back up' | 'restore' | 'restart' }
  | { do: 'update' | 'record' | 'split' | 'resurrect' | 'delete'; who: number }
  | { do: 'merge'; who: number; into: number }
  | { do: 'pass'; days: number }
  | {
      do: 'request';
      who: number;
      by: GivenIdentifier['kind'] & ('uuid' | 'id' | 'distinct_id' | 'email');
      kill: KillPoint | null;
    }
  | { do: 'sync' | 'publish' | 'reconcile'; kill: KillPoint | null };

/** A point at the nth operation of a kind, whichever that is. */
function pointAt(kind: keyof typeof anyOperation, nth: number, moment: KillPoint['moment'] = 'before'): KillPoint {
  return { operation: anyOperation[kind], nth, moment };
}

const who = fc.nat(40);
const kill = fc.option(
  fc.oneof(
    fc.integer({ min: 1, max: 90 }).map((nth) => pointAt('sql', nth, nth % 2 === 0 ? 'after' : 'before')),
    fc.integer({ min: 1, max: 60 }).map((nth) => pointAt('disk', nth)),
    fc.integer({ min: 1, max: 14 }).map((nth) => pointAt('http', nth)),
  ),
  { freq: 2 },
);

/** Sequences of at most so many chapters. Steps that belong together stand in one chapter; any of them may be killed. */
function sequences(chaptersMax: number): fc.Arbitrary<Step[]> {
  const job = <D extends string>(what: D) => fc.record({ do: fc.constant(what), kill });
  const event = <D extends string>(what: D) => fc.constant({ do: what });
  const toSomebody = fc.oneof(
    fc.record({ do: fc.constantFrom('update', 'record', 'split', 'resurrect', 'delete'), who }),
    fc.record({ do: fc.constant('merge'), who, into: who }),
  );
  const request = fc.record({
    do: fc.constant('request'),
    who,
    by: fc.constantFrom('uuid', 'id', 'distinct_id', 'email'),
    kill,
  });
  const sync = job('sync');
  const publish = job('publish');
  const reconcile = job('reconcile');
  const chapter = fc.oneof(
    fc.tuple(event('create'), toSomebody, sync),
    fc.tuple(toSomebody, toSomebody, sync, publish),
    fc.tuple(request, reconcile),
    fc.tuple(request, request, reconcile, event('approve'), reconcile),
    fc.tuple(event('back up'), request, event('cancel'), event('restore'), sync, reconcile),
    fc.tuple(sync, event('back up'), request, reconcile, event('restore'), fc.oneof(sync, publish, request), reconcile),
    fc.tuple(request, reconcile, event('back up'), reconcile, event('restore'), reconcile),
    fc.tuple(toSomebody, reconcile, event('restore'), sync),
    fc.tuple(event('restart'), fc.record({ do: fc.constant('pass'), days: fc.integer({ min: 1, max: 9 }) })),
  ) as fc.Arbitrary<Step[]>;
  return fc.array(chapter, { minLength: 1, maxLength: chaptersMax, size: 'max' }).map((chapters) => chapters.flat());
}

/** How often what matters really happened. */
type Tally = Record<'verified' | 'killed' | 'replayed' | 'held' | 'sealed' | 'refusedRestored', number>;

type Owners = Map<string, Set<string>>;

/** Plays so many sequences, always the same ones for a seed. Rejects with the first that goes wrong. */
export async function playSequences({
  numRuns,
  chaptersMax,
  seed,
}: {
  numRuns: number;
  chaptersMax: number;
  seed: number;
}): Promise<Tally> {
  const tally: Tally = { verified: 0, killed: 0, replayed: 0, held: 0, sealed: 0, refusedRestored: 0 };
  const play = fc.asyncProperty(fc.nat(1_000_000), sequences(chaptersMax), (world, steps) =>
    playSequence(world, steps, tally),
  );
  await fc.assert(play, { numRuns, seed, endOnFailure: true });
  return tally;
}

/**
 * Plays a sequence of steps on the real program and beside it a model of sets: who has ever owned which text, and who is erased.
 * After each step the ledger is in order; whenever a request is verified, no text that only erased people ever owned is
 * anywhere; a reconciliation changes nothing of anybody else; and at the end every request comes to its end.
 */
async function playSequence(seed: number, steps: readonly Step[], tally: Tally): Promise<void> {
  const world = await openErasureWorld(seed);
  const player = createPlayer(world, seed, tally);
  for (let first = 0; first < 3; first += 1) player.create();
  for (const step of steps) {
    await player.take(step);
    player.checkLedger();
  }
  await player.finish();
  await world.close();
}

function createPlayer(world: ErasureWorld, seed: number, tally: Tally) {
  const { sandbox, dataDir } = world;
  // Not as the sandbox draws its own ids.
  const random = seededRandom(seed + 1);
  /** Every text, and the uuids of those who have ever owned it. */
  const texts: Owners = new Map();
  const distinctIds: Owners = new Map();
  const everybody: string[] = [...sandbox.living()].map(({ uuid }) => uuid);
  /** The uuids of each request's subject, as far as is known from outside. */
  const subjects = new Map<string, Set<string>>();
  let words = 0;
  let isRestored = false;

  const word = (): string => {
    words += 1;
    return `canary${seed}x${words}x${random.int(100_000, 999_999)}`;
  };
  const own = (owners: Owners, text: string, uuid: string): void => {
    owners.set(text, new Set([...(owners.get(text) ?? []), uuid]));
  };
  /** Who owns what now, for good: who has ever owned a text may not be the only one to be asked for it. */
  const learn = (): void => {
    for (const { uuid, distinct_ids: ids, properties } of sandbox.living()) {
      if (!everybody.includes(uuid)) everybody.push(uuid);
      for (const id of ids) own(distinctIds, id, uuid);
      for (const text of [properties, ...ids].join(' ').match(/canary\d+x\d+x\d+/g) ?? []) own(texts, text, uuid);
    }
  };
  const pick = (who: number): string => everybody[who % everybody.length] ?? '';
  const idOf = (uuid: string): number | undefined => [...sandbox.living()].find((one) => one.uuid === uuid)?.id;
  const change = () => ({ userId: 1, atMs: sandbox.clock.now() });
  learn();

  const create = (): void => {
    const name = word();
    sandbox.act({
      do: 'create',
      distinct_ids: [`${name}@x.example`, word()],
      properties: { email: `${name}@x.example`, bio: word() },
    });
    learn();
  };
  const attempt = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    learn();
  };
  const record = (uuid: string): void => {
    const person = sandbox.store.persons.find(idOf(uuid) ?? 0);
    if (!person) return;
    const ids = JSON.parse(person.distinctIds) as string[];
    const { recording, startMicros } = generateRecording(random, random.pick(ids), [], documentedRecordings);
    const address = { ...recording, start_url: `https://x.example/${word()}` };
    own(texts, address.start_url.slice(-20), uuid);
    sandbox.store.recordings.add(
      address,
      startMicros,
      // Live services show all distinct ids, the documented one the first.
      random.oneIn(2) ? personJson(person) : recordingPersonJson(person),
    );
  };

  /** Notes whom the requests are about, while they tell. */
  const noteSubjects = (): void => {
    const db = world.db();
    for (const { id } of listRequests(db, 'all')) {
      const known = subjects.get(id) ?? new Set();
      subjects.set(id, known);
      const box = boxOf({ db, settings: { dataDir } }, id);
      for (const uuid of box?.identity.person_uuid ?? []) known.add(uuid);
      const removed = db
        .prepare<[string], string>(`SELECT key FROM deletions WHERE dataset = 'persons' AND request_id = ?`)
        .pluck()
        .all(id);
      for (const uuid of removed) known.add(uuid);
    }
  };
  const uuidsOf = (which: (request: ErasureRequest) => boolean): Set<string> => {
    const uuids = new Set<string>();
    for (const { id } of listRequests(world.db(), 'all').filter(which))
      for (const uuid of subjects.get(id) ?? []) uuids.add(uuid);
    return uuids;
  };

  /** Nothing that only erased people ever owned is anywhere. */
  const checkForgotten = async (): Promise<void> => {
    noteSubjects();
    const gone = uuidsOf(({ verifiedAt }) => verifiedAt !== null);
    const onlyTheirs = (owners: Owners): string[] =>
      [...owners].filter(([, uuids]) => [...uuids].every((uuid) => gone.has(uuid))).map(([text]) => text);
    const found = await findTexts(dataDir, [...onlyTheirs(texts), ...onlyTheirs(distinctIds)]);
    expect([...found].filter(([, places]) => places.length > 0)).toEqual([]);
  };

  /** Every row that is held, by where it stands; texts that only people who are being erased own are left out. */
  const rowsOf = async (): Promise<Map<string, { row: string; about: string[] }>> => {
    const rows = new Map<string, { row: string; about: string[] }>();
    const take = (place: string, row: Record<string, unknown>, about: unknown[]): void => {
      const text = JSON.stringify(row, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
      rows.set(place, { row: text, about: about.filter((each) => typeof each === 'string') });
    };
    const db = world.db();
    for (const row of db.prepare<[], Record<string, unknown>>(`SELECT * FROM persons`).all())
      take(`mirror persons ${String(row['uuid'])}`, row, [row['uuid']]);
    for (const row of db.prepare<[], Record<string, unknown>>(`SELECT * FROM recordings`).all())
      take(`mirror recordings ${String(row['id'])}`, row, [row['person_uuid'], row['distinct_id']]);
    for (const { dataset, snapshotId, path } of listPublishedParts(publishedFilesIn(dataDir))) {
      if (dataset === 'deletions') continue;
      for (const row of await readWithHyparquet(path)) {
        const key =
          dataset === 'persons' ? row['person_uuid'] : dataset === 'recordings' ? row['id'] : row['distinct_id'];
        take(`${dataset} ${snapshotId} ${String(key)}`, row, [row['person_uuid'], row['distinct_id']]);
      }
    }
    return rows;
  };

  /** A reconciliation has changed nothing of anybody who is not erased, but for the names of those who are. */
  const checkOthers = async (before: Awaited<ReturnType<typeof rowsOf>>): Promise<void> => {
    noteSubjects();
    const fenced = uuidsOf(({ fencedAt }) => fencedAt !== null);
    const theirs = (text: string): boolean =>
      fenced.has(text) || [...(distinctIds.get(text) ?? [])].some((uuid) => fenced.has(uuid));
    const named = [...distinctIds.keys()].filter(theirs);
    const withoutNames = (row: string): string =>
      named
        .reduce((text, name) => text.replaceAll(new RegExp(`\\\\*"${name}\\\\*",?`, 'g'), ''), row)
        .replaceAll(',]', ']');
    const after = await rowsOf();
    const changed = [...before].filter(
      ([place, { row, about }]) =>
        !about.some(theirs) && withoutNames(after.get(place)?.row ?? 'gone') !== withoutNames(row),
    );
    expect(changed.map(([place, { row }]) => [place, row, after.get(place)?.row])).toEqual([]);
  };

  const checkLedger = (): void => {
    const order = recordOrder();
    const findings = [...readLedger(dataDir).entries()].flatMap(({ seq, at: _at, ...entry }) => {
      const finding = order.take(entry);
      return finding === undefined ? [] : [`${seq} ${entry.type}: ${finding}`];
    });
    expect(findings).toEqual([]);
  };

  const reconcile = async (point: KillPoint | undefined): Promise<void> => {
    noteSubjects();
    const hasSuspects = world.db().prepare(`SELECT 1 FROM suspects`).get() !== undefined;
    const before = isRestored || hasSuspects ? undefined : await rowsOf();
    const result = await world.reconcile(point);
    if (before) await checkOthers(before);
    if (!result) {
      tally.killed += 1;
      noteSubjects();
      return;
    }
    isRestored = false;
    tally.verified += result.erasure.verified;
    tally.sealed += result.erasure.sealed;
    tally.replayed += result.replayed ? 1 : 0;
    tally.held += result.erasure.held;
    await checkForgotten();
  };

  /** An older copy of the mirror takes part in nothing before it was brought up to date. */
  const unlessRestored = async (job: () => Promise<boolean>): Promise<void> => {
    const isOlder = readEpoch(world.db()) < readLedger(dataDir).epoch();
    try {
      if (await job()) tally.killed += 1;
      else expect(isOlder).toBe(false);
    } catch (error) {
      if (!isOlder || !(error instanceof AppError)) throw error;
      expect(error.message).toMatch(/older copy/);
      tally.refusedRestored += 1;
    }
  };

  const request = async ({ who, by, kill }: Extract<Step, { do: 'request' }>): Promise<void> => {
    const uuid = pick(who);
    const [first = uuid] = [...distinctIds].filter(([, uuids]) => uuids.has(uuid)).map(([id]) => id);
    const email = [...distinctIds.keys()].find((id) => distinctIds.get(id)?.has(uuid) && id.includes('@'));
    const value = { uuid, id: String(idOf(uuid) ?? 1_000_000), distinct_id: first, email: email ?? 'nobody@x.example' }[
      by
    ];
    await unlessRestored(async () => {
      const added = await world.request([{ kind: by, value }], kill ?? undefined);
      return added.length === 0;
    });
  };

  const take = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'create':
        return create();
      case 'update':
        return attempt(() => {
          sandbox.store.persons.mergeProperties(idOf(pick(step.who)) ?? 0, { bio: word() }, change());
        });
      case 'record':
        return record(pick(step.who));
      case 'split':
      case 'resurrect':
      case 'delete':
        return attempt(() => void sandbox.act({ do: step.do as 'split', uuid: pick(step.who) }));
      case 'merge':
        return attempt(() => void sandbox.act({ do: 'merge', loser: pick(step.who), survivor: pick(step.into) }));
      case 'sync':
        return unlessRestored(() => world.sync(step.kill ?? undefined));
      case 'publish':
        return unlessRestored(() => world.publish(step.kill ?? undefined));
      case 'request':
        return request(step);
      case 'reconcile':
        return reconcile(step.kill ?? undefined);
      case 'approve':
        return unlessRestored(async () => {
          await world.approveHeld();
          return false;
        });
      case 'cancel':
        return unlessRestored(async () => {
          await world.cancelAll();
          return false;
        });
      case 'restart':
        return world.restart();
      case 'back up':
        return world.backUp();
      case 'restore':
        isRestored = world.restore() || isRestored;
        return;
      case 'pass':
        return world.pass(step.days);
    }
  };

  /** Left alone, every request comes to its end: those that wait for somebody are approved, the others are given time. */
  const finish = async (): Promise<void> => {
    for (let round = 0; round < 4; round += 1) {
      await reconcile(undefined);
      await world.approveHeld();
      world.pass(8);
    }
    // What the service never said is not waited for any longer than a request may live.
    world.pass(world.settings.erasure.maxRequestDays);
    await reconcile(undefined);
    await reconcile(undefined);
    checkLedger();
    expect(listRequests(world.db(), 'open').map(({ state, reason }) => ({ state, reason }))).toEqual([]);
    await world.sync();
    await world.publish();
    await checkForgotten();
  };

  return { create, take, checkLedger, finish };
}
