import { generateRecording, documentedRecordings } from '../../../src/sandbox/generator/recording.ts';
import { seededRandom, type SeededRandom } from '../../../src/sandbox/generator/seeded-random.ts';
import { personJson, recordingPersonJson } from '../../../src/sandbox/store/person-row.ts';
import { parseExactJson } from '../../../src/core/exact-json.ts';
import { openErasureWorld, type ErasureWorld } from '../erasure-world.ts';

/** What a world has lived through: who has ever owned which text, told from the service's side alone. */
export type Lived = {
  world: ErasureWorld;
  random: SeededRandom;
  /** The persons whose histories were played, by uuid. */
  played: string[];
  /** Each unique word, in lower case, and the uuids of the persons that were ever shown with it. */
  owners: ReadonlyMap<string, ReadonlySet<string>>;
  /** Rows that show a person by nothing but an e-mail address: a word of their own, and what they were recorded under. */
  nameless: readonly { word: string; address: string; under: string }[];
  /** The address that a spelling is one of. */
  addressOf: (spelling: string) => string;
  /** Persons that were merged, split or deleted, and whose mirror rows may still change because of that. */
  unsettled: ReadonlySet<string>;
};

/** The unique words in a text, in lower case. */
export function wordsIn(text: string): string[] {
  return (text.match(/canary\d+x\d+x\d+/gi) ?? []).map((word) => word.toLowerCase());
}

const epochs = 4;

/**
 * Plays the histories of so many persons through the real program, in four epochs. In each, addresses are changed, removed,
 * spelled otherwise and taken over; persons are merged, split, deleted and brought back; they are recorded, by name or
 * by nothing but an address; and rows of some can no longer be read. After each epoch the mirror is synced and published.
 */
export async function playHistories(seed: number, personsMin: number): Promise<Lived> {
  const world = await openErasureWorld(seed, [
    { path: 'erasure.maxBatch', value: 10_000 },
    { path: 'export.keep', value: 20 },
    { path: 'export.partRows', value: 30 },
    { path: 'persons.pageSize', value: 50 },
    { path: 'recordings.pageSize', value: 100 },
  ]);
  const { sandbox } = world;
  const random = seededRandom(seed * 7919 + 1);
  const owners = new Map<string, Set<string>>();
  const nameless: Lived['nameless'][number][] = [];
  const spellings = new Map<string, string>();
  const addressesOf = new Map<string, string[]>();
  const played: string[] = [];
  const unreadable = new Map<string, (row: Row) => Row>();
  const unsettled = new Set<string>();
  const before = new Set([...sandbox.living()].map(({ uuid }) => uuid));
  let words = 0;

  const word = (): string => `canary${seed}x${(words += 1)}x${random.int(100_000, 999_999)}`;
  const own = (text: string, uuid: string): void => {
    for (const one of wordsIn(text)) owners.set(one, new Set([...(owners.get(one) ?? []), uuid]));
  };
  const living = (): Map<string, number> => new Map([...sandbox.living()].map(({ uuid, id }) => [uuid, id]));
  const change = () => ({ userId: 1, atMs: sandbox.clock.now() });
  const addressOf = (spelling: string): string => spellings.get(spelling) ?? spelling;
  const newAddress = (): string => {
    const address = `${word()}.\u00f6@x.example`;
    spellings.set(address, address);
    return address;
  };
  const respelled = (address: string): string => {
    const upper = (text: string): string => text.toUpperCase();
    const spelling = random.pick([
      upper,
      (text: string) => text.normalize('NFD'),
      (text: string) => ` ${text}`,
      (text: string) => `${upper(text)}\u00a0\n`,
      (text: string) => upper(text.normalize('NFD')),
    ])(address);
    spellings.set(spelling, address);
    return spelling;
  };
  /** Who owns what now. It is never forgotten: an old row may show it. */
  const learn = (): void => {
    for (const { uuid, distinct_ids: ids, properties } of sandbox.living()) {
      own([properties, ...ids].join(' '), uuid);
      if (!played.includes(uuid) && !before.has(uuid)) played.push(uuid);
      const { email } = (JSON.parse(properties) ?? {}) as { email?: unknown };
      if (typeof email === 'string') addressesOf.set(uuid, [...(addressesOf.get(uuid) ?? []), addressOf(email)]);
    }
  };
  const create = (distinctIds: string[]): void => {
    const properties = { ...(random.oneIn(8) ? {} : { email: newAddress() }), bio: word() };
    const { created } = sandbox.act({ do: 'create', distinct_ids: distinctIds, properties });
    if (created.length === 0) throw new Error('nobody was created');
    learn();
  };
  const setEmail = (uuid: string, email: string | null): void => {
    sandbox.store.persons.mergeProperties(living().get(uuid) ?? 0, { email, bio: word() }, change());
  };
  const record = (uuid: string, isNameless: boolean): void => {
    const person = sandbox.store.persons.find(living().get(uuid) ?? 0);
    if (!person) return;
    const ids = JSON.parse(person.distinctIds) as string[];
    const address = addressesOf.get(uuid)?.at(-1);
    const isByName = !isNameless || address === undefined;
    const under = isByName || random.oneIn(2) ? random.pick(ids) : 'anonymous';
    const { recording, startMicros } = generateRecording(random, under, [], documentedRecordings);
    const text = word();
    const shown = { ...recording, start_url: `https://x.example/${text}` };
    if (isByName) {
      own(text, uuid);
      // Live services show all distinct ids, the documented one the first.
      sandbox.store.recordings.add(
        shown,
        startMicros,
        random.oneIn(2) ? personJson(person) : recordingPersonJson(person),
      );
      return;
    }
    nameless.push({ word: text, address, under });
    const email = random.oneIn(2) ? address : respelled(address);
    const embedded = { name: `N ${text}`, properties: { email, plan: text } };
    sandbox.store.recordings.add(shown, startMicros, JSON.stringify(embedded));
  };
  const takePart = (uuid: string, others: readonly string[]): void => {
    const other = random.pick(others);
    const [address] = addressesOf.get(uuid)?.slice(-1) ?? [];
    switch (random.int(0, 15)) {
      case 0:
      case 1:
        return setEmail(uuid, newAddress());
      case 2:
        return setEmail(uuid, null);
      case 3:
      case 4:
        return setEmail(uuid, address === undefined ? newAddress() : respelled(address));
      case 5: {
        const taken = random.oneIn(3) ? addressesOf.get(other)?.[0] : undefined;
        return setEmail(uuid, taken ?? newAddress());
      }
      case 6:
        if (other === uuid || !random.oneIn(2)) return;
        for (const each of [uuid, other]) unsettled.add(each);
        return void sandbox.act({ do: 'merge', loser: uuid, survivor: other });
      case 7:
        unsettled.add(uuid);
        return void sandbox.act({ do: 'split', uuid });
      case 8:
      case 9:
        return record(uuid, false);
      case 10:
        return record(uuid, true);
      case 11:
        return void unreadable.set(uuid, random.pick(forms));
      case 12:
        sandbox.store.lifecycle.addDistinctIds(living().get(uuid) ?? 0, [
          `${word()}${random.pick(['', ' ', '\u00df'])}`,
        ]);
        return;
      case 13:
        if (!random.oneIn(3)) return;
        unsettled.add(uuid);
        sandbox.act({ do: 'delete', uuid });
        // Later events bring the same uuid back under another id.
        if (random.oneIn(2)) sandbox.act({ do: 'resurrect', uuid });
        return;
      default:
        return;
    }
  };

  world.intercept(async ({ path }, send) => {
    const answer = await send();
    const isList = path.includes('/persons/?') && !path.includes('email=') && !path.includes('distinct_id=');
    if (!isList || unreadable.size === 0) return answer;
    const body = parseExactJson(answer.bytes.toString()) as { results: Row[] };
    const results = body.results.map((row) => unreadable.get(row.uuid ?? '')?.(row) ?? row);
    return { ...answer, bytes: Buffer.from(JSON.stringify({ ...body, results })) };
  });

  while (played.length < personsMin) {
    const id = word();
    create([id, ...(random.oneIn(2) ? [word()] : [])]);
    // Byte for byte, these are other persons' ids.
    if (random.oneIn(6)) create([random.pick([`${id} `, ` ${id}`, id.toUpperCase()])]);
  }
  for (let epoch = 1; epoch <= epochs; epoch += 1) {
    unreadable.clear();
    learn();
    const persons = [...played];
    for (const uuid of persons) {
      const there = [...living().keys()].filter((each) => played.includes(each));
      if (epoch > 1 && there.includes(uuid)) takePart(uuid, there);
      learn();
    }
    world.pass(1);
    await world.syncAndPublish();
    // Later the service says which of the absent were merged, and which are gone.
    if (random.oneIn(2)) {
      await world.reconcile();
      unsettled.clear();
    }
  }
  return { world, random, played, owners, nameless, addressOf, unsettled };
}

type Row = { uuid: string | null };

/** What may become of a row that cannot be read any more. */
const forms: readonly ((row: Row) => Row)[] = [
  (row) => Object.assign({}, row, { name: 5 }),
  (row) => Object.assign({}, row, { uuid: null }),
  (row) => Object.assign({}, row, { uuid: null, distinct_ids: null }),
  (row) => Object.assign({}, row, { uuid: null, id: null, distinct_ids: null }),
];
