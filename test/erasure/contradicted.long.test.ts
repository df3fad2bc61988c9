import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readmit } from '../../src/erasure/readmit.ts';
import { approveRequest } from '../../src/erasure/receive.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import { scanRequests } from '../../src/erasure/scan/scan-requests.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { listRequests, type ErasureRequest } from '../../src/mirror/erasure-requests.ts';
import { jobContext } from '../job/job-context.ts';
import { loadStandAlone } from '../ledger/ledger-fixture.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { answer } from './upstream/upstream-world.ts';

const name = 'listed-again@x.example';

/** A world with one person whom its mirror knows, and when the service created the person. */
async function worldWithPerson(): Promise<{ world: ErasureWorld; uuid: string; createdAt: string }> {
  const world = await openErasureWorld(5);
  const { created } = world.sandbox.act({ do: 'create', distinct_ids: [name], properties: { email: name } });
  const uuid = created[0] ?? '';
  await world.sync();
  await world.publish();
  return { world, uuid, createdAt: createdAtOf(world, uuid) };
}

async function erased(): Promise<{ world: ErasureWorld; uuid: string; createdAt: string }> {
  const known = await worldWithPerson();
  await known.world.request([{ kind: 'uuid', value: known.uuid }]);
  await toTheEnd(known.world);
  expect(requestOf(known.world)).toMatchObject({ state: 'sealed', generation: 1 });
  return known;
}

async function toTheEnd(world: ErasureWorld): Promise<void> {
  await world.reconcile();
  world.pass(14);
  await world.reconcile();
}

const createdAtOf = ({ sandbox }: ErasureWorld, uuid: string): string =>
  [...sandbox.living()].find((person) => person.uuid === uuid)?.created_at ?? '';
const isLiving = ({ sandbox }: ErasureWorld, uuid: string): boolean =>
  [...sandbox.living()].some((person) => person.uuid === uuid);

function requestOf({ db }: ErasureWorld): ErasureRequest {
  const [request] = listRequests(db(), 'all');
  if (!request) throw new Error('no request');
  return request;
}

/** The service has the person again, and says that the person was there all along. Counts the deletions sent. */
function bringBack(world: ErasureWorld, uuid: string, createdAt: string): { deletions: number } {
  world.sandbox.act({ do: 'resurrect', uuid });
  const later = createdAtOf(world, uuid);
  const sent = { deletions: 0 };
  world.intercept(async (asked, send) => {
    if (asked.method === 'DELETE') sent.deletions += 1;
    const reply = await send();
    return { ...reply, bytes: Buffer.from(reply.bytes.toString().replaceAll(later, createdAt)) };
  });
  return sent;
}

const records = ({ dataDir }: ErasureWorld): string[] =>
  [...readLedger(dataDir).entries()].flatMap((entry) =>
    entry.type === 'reopened' || (entry.type === 'attention' && entry.reason === 'listed_again')
      ? [`${entry.type} ${entry.generation} ${entry.reason}`]
      : [],
  );

async function expectSoundLedger({ dataDir }: ErasureWorld): Promise<void> {
  expect(verifyLedger({ folder: join(dataDir, 'ledger') }).problems).toEqual([]);
  expect((await loadStandAlone())({ folder: join(dataDir, 'ledger') }).problems).toEqual([]);
}

it('a person whom the service lists again after the certificate is erased again, as the next generation', async () => {
  const { world, uuid, createdAt } = await erased();
  const sent = bringBack(world, uuid, createdAt);
  await world.sync();
  const noted = requestOf(world);
  expect(noted).toMatchObject({ state: 'sealed', generation: 1, listedAgainAt: expect.any(String) });
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(join(world.dataDir, 'mirror.db'));
  expect(bytes.includes(name)).toBe(false);

  await world.reconcile();
  expect(records(world)).toEqual(['reopened 2 listed_again']);
  expect(sent.deletions).toBe(1);
  expect(isLiving(world, uuid)).toBe(false);
  expect(requestOf(world)).toMatchObject({ generation: 2, listedAgainAt: null, reopenedAt: expect.any(String) });
  world.pass(14);
  await world.sync();
  await world.reconcile();
  expect(requestOf(world)).toMatchObject({ state: 'sealed', generation: 2 });
  await expectSoundLedger(world);
});

it('a person who came back after the erasure reopens nothing', async () => {
  const { world, uuid } = await erased();
  world.sandbox.act({ do: 'resurrect', uuid });
  await world.sync();
  await world.reconcile();
  expect(requestOf(world)).toMatchObject({ state: 'sealed', generation: 1, listedAgainAt: null });
  expect(isLiving(world, uuid)).toBe(true);
});

it('a list that shows the person before the service has said that the person is gone is no evidence', async () => {
  const { world, uuid } = await worldWithPerson();
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) => (asked.method === 'DELETE' ? Promise.resolve(answer(409)) : send()));
  await world.reconcile();
  await world.sync();
  expect(requestOf(world)).toMatchObject({ generation: 1, listedAgainAt: null });
});

it('a service that lists and denies the same person is not asked for ever: an operator has to look', async () => {
  const { world, uuid, createdAt } = await erased();
  const sent = bringBack(world, uuid, createdAt);
  const lying = async (): Promise<void> => {
    world.intercept(async (asked, send) => {
      if (asked.path.includes('/persons/?') && !asked.path.includes('distinct_id')) {
        const reply = await send();
        return { ...reply, bytes: Buffer.from(reply.bytes.toString().replaceAll(createdAtOf(world, uuid), createdAt)) };
      }
      if (asked.path.includes('distinct_id')) return answer(200, '{"results":[],"next":null}');
      return asked.path.includes('/persons/') ? answer(404) : send();
    });
    await world.sync();
    await world.reconcile();
    world.pass(14);
    await world.reconcile();
  };
  await lying();
  expect(requestOf(world)).toMatchObject({ state: 'sealed', generation: 2 });
  await lying();
  expect(requestOf(world)).toMatchObject({ state: 'attention', reason: 'listed_again', generation: 3 });
  await lying();
  expect(requestOf(world)).toMatchObject({ state: 'attention', generation: 3 });
  expect(sent.deletions).toBe(0);
  await expectSoundLedger(world);
});

it.each(['approve', 'readmit'] as const)(
  'a person of a deletion at the service, not of an operator, is not deleted there: %s ends it',
  async (how) => {
    const { world, uuid, createdAt } = await worldWithPerson();
    world.sandbox.act({ do: 'delete', uuid });
    await world.sync();
    await toTheEnd(world);
    expect(requestOf(world)).toMatchObject({ state: 'sealed', origin: 'upstream' });
    const sent = bringBack(world, uuid, createdAt);
    await world.sync();
    await world.reconcile();
    const { id } = requestOf(world);
    expect(requestOf(world)).toMatchObject({ state: 'attention', reason: 'listed_again', generation: 2 });
    expect(records(world)).toEqual(['reopened 2 listed_again', 'attention 2 listed_again']);
    await runEraseJob(jobContext({ db: world.db(), settings: world.settings, clock: world.clock }, {}), async (job) => {
      if (how === 'approve') approveRequest(job, id);
      else readmit(job, [id], 'it was a mistake');
      return Promise.resolve({ outcome: 'done', counts: {} });
    });
    await world.reconcile();
    expect(requestOf(world).state).toBe('sealed');
    await world.sync();
    const count = world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck().get(uuid);
    expect(count).toBe(how === 'readmit' ? 1 : 0);
    expect({ ...sent, isLiving: isLiving(world, uuid) }).toEqual({ deletions: 0, isLiving: true });
    await expectSoundLedger(world);
  },
);

it('a person of two requests is let in by both together, and by none while a third is about to erase the person', async () => {
  const { world, uuid } = await worldWithPerson();
  await world.request([
    { kind: 'uuid', value: uuid },
    { kind: 'distinct_id', value: name },
  ]);
  await toTheEnd(world);
  const ids = listRequests(world.db(), 'all').map(({ id }) => id);
  const letIn = (which: string[]): Promise<void> => world.erase((job) => void readmit(job, which, 'consent'));
  await expect(letIn(ids.slice(0, 1))).rejects.toThrow(`2 requests have erased this person: ${ids.join(' ')}`);
  world.pass(1);
  world.sandbox.act({ do: 'resurrect', uuid });
  await world.request([{ kind: 'distinct_id', value: name }]);
  await expect(letIn(ids)).rejects.toThrow(/is open, and about to erase this person/);
  await world.cancelAll();
  await letIn(ids);
  await world.sync();
  await world.reconcile();
  const count = world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck().get(uuid);
  expect({ count, isLiving: isLiving(world, uuid) }).toEqual({ count: 1, isLiving: true });
});

const scan = ({ db, settings, clock }: ErasureWorld, also: string[] = []) =>
  runEraseJob(jobContext({ db: db(), settings, clock }, {}), async (job) => ({
    outcome: 'done',
    counts: {},
    ...(await scanRequests(job, [], also)),
  }));

it('a scan that finds somebody of a sealed request opens the request, until the file is gone', async () => {
  const { world, uuid } = await erased();
  const { id } = requestOf(world);
  const stray = join(world.dataDir, 'tmp', 'notes.json');
  writeFileSync(stray, JSON.stringify({ person: { uuid, distinct_ids: [name] } }));
  expect(await scan(world)).toMatchObject({ reopened: [id] });
  expect(records(world)).toEqual(['reopened 2 residue_found']);
  expect(requestOf(world)).toMatchObject({ state: 'attention', reason: 'residue_found' });
  expect((await scan(world)).reopened).toEqual([]);
  await world.reconcile();
  expect(requestOf(world)).toMatchObject({ state: 'attention', reason: 'residue_found', generation: 2 });
  rmSync(stray);
  await world.reconcile();
  expect(requestOf(world)).toMatchObject({ state: 'sealed', generation: 2, certifiedAt: expect.any(String) });
  await expectSoundLedger(world);
});

it('what a scan finds in the mirror of a sealed request is erased at the next reconciliation', async () => {
  const { world, uuid } = await erased();
  world
    .db()
    .prepare(
      `INSERT INTO persons (uuid, name, created_at, properties, first_seen_pass, changed_at) VALUES (?, ?, '', '{}', 1, '')`,
    )
    .run(uuid, name);
  expect(await scan(world)).toMatchObject({ reopened: [requestOf(world).id] });
  await toTheEnd(world);
  expect(world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck().get(uuid)).toBe(0);
  expect(requestOf(world)).toMatchObject({ state: 'sealed', generation: 2 });
  await expectSoundLedger(world);
});

it('what lies outside the data folder contradicts no certificate', async () => {
  const { world, uuid } = await erased();
  const file = join(world.dataDir, '..', `outside-${uuid}.json`);
  writeFileSync(file, JSON.stringify({ uuid }));
  const { report, reopened } = await scan(world, [file]);
  rmSync(file);
  expect(report.fenced).toHaveLength(1);
  expect(reopened).toEqual([]);
});
