import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findCertificate, refuseSuperseded } from '../../src/audit/issued-certificates.ts';
import { isoTime } from '../../src/core/clock.ts';
import { readmit } from '../../src/erasure/readmit.ts';
import { approveRequest } from '../../src/erasure/receive.ts';
import { scanRequests } from '../../src/erasure/scan/scan-requests.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { adviceText } from '../../src/ledger/vocabulary-words.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { gatherRequests } from '../../src/status/gather-requests.ts';
import { openKnownWorld, type ErasureWorld } from './erasure-world.ts';
import { answer } from './upstream/upstream-world.ts';

const name = 'listed-again@x.example';

/** A world with one person whom its mirror knows, and when the service created the person. */
async function worldWithPerson() {
  const known = await openKnownWorld(name);
  return { ...known, createdAt: createdAtOf(known.world, known.uuid) };
}

async function erased(): ReturnType<typeof worldWithPerson> {
  const known = await worldWithPerson();
  await known.world.request(known.given);
  await known.world.reconcileToTheEnd();
  expect(known.world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 1 });
  return known;
}

const createdAtOf = ({ sandbox }: ErasureWorld, uuid: string): string =>
  [...sandbox.living()].find((person) => person.uuid === uuid)?.created_at ?? '';
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

function expectSoundLedger({ dataDir }: ErasureWorld): void {
  expect(verifyLedger({ folder: join(dataDir, 'ledger') }).problems).toEqual([]);
}

it('a person whom the service lists again after the certificate is erased again, as the next generation', async () => {
  const { world, uuid, createdAt } = await erased();
  const sent = bringBack(world, uuid, createdAt);
  await world.sync();
  const noted = world.onlyRequest();
  expect(noted).toMatchObject({ state: 'sealed', generation: 1, listedAgainPass: expect.any(Number) });
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(join(world.dataDir, 'mirror.db'));
  expect(bytes.includes(name)).toBe(false);
  const certificate = findCertificate(world.settings, readLedger(world.dataDir), noted.id);
  // The ledger learns of it at the next reconciliation. Nobody is given the certificate until then.
  const given = (isWanted: boolean) => () => refuseSuperseded(world.dataDir, certificate, isWanted);
  expect(given(false)).toThrow(/has shown the person of request .* again since its certificate/);
  expect(given(true)).not.toThrow();

  await world.reconcile();
  expect(records(world)).toEqual(['reopened 2 listed_again']);
  expect(sent.deletions).toBe(1);
  expect(world.living().includes(uuid)).toBe(false);
  expect(world.onlyRequest()).toMatchObject({ generation: 2, listedAgainPass: null });
  world.pass(14);
  await world.sync();
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2 });
  expectSoundLedger(world);
});

it('a person who came back after the erasure reopens nothing', async () => {
  const { world, uuid } = await erased();
  world.sandbox.act({ do: 'resurrect', uuid });
  await world.sync();
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 1, listedAgainPass: null });
  expect(world.living().includes(uuid)).toBe(true);
});

it('a list that shows the person before the service has said that the person is gone is no evidence', async () => {
  const { world, given } = await worldWithPerson();
  await world.request(given);
  world.intercept((asked, send) => (asked.method === 'DELETE' ? Promise.resolve(answer(409)) : send()));
  await world.reconcile();
  await world.sync();
  expect(world.onlyRequest()).toMatchObject({ generation: 1, listedAgainPass: null });
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
      return isAbout(world, uuid, asked.path) ? answer(404) : send();
    });
    await world.sync();
    await world.reconcileToTheEnd();
  };
  await lying();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2 });
  await lying();
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'listed_again', generation: 3 });
  await lying();
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', generation: 3 });
  expect(sent.deletions).toBe(0);
  expectSoundLedger(world);
});

/** A world whose person was deleted at the service, and whose request about that is ended. */
async function deletedThere(): ReturnType<typeof worldWithPerson> {
  const known = await worldWithPerson();
  known.world.sandbox.act({ do: 'delete', uuid: known.uuid });
  await known.world.sync();
  await known.world.reconcileToTheEnd();
  expect(known.world.onlyRequest()).toMatchObject({ state: 'sealed', origin: 'upstream' });
  return known;
}

/** Whether a path asks for the person by its id or uuid. */
function isAbout({ sandbox }: ErasureWorld, uuid: string, path: string): boolean {
  const id = [...sandbox.living()].find((person) => person.uuid === uuid)?.id;
  return path.includes(`/persons/${id}/`) || path.includes(`/persons/${uuid}/`);
}

const counted = ({ db }: ErasureWorld, sql: string, ...values: string[]): unknown =>
  db().prepare(`SELECT count(*) FROM ${sql}`).pluck().get(values);

it('a customer whom the service had deleted, and who visits again, is mirrored', async () => {
  const { world, uuid } = await deletedThere();
  expect(counted(world, `fence WHERE kind = 'person_uuid' AND seen_pass > 0 AND served_at IS NOT NULL`)).toBe(1);
  const again = world.create([name], { email: name });
  await world.sync();
  expect(counted(world, 'distinct_id_owners WHERE distinct_id = ?', name)).toBe(1);
  expect(counted(world, 'persons WHERE uuid IN (?, ?)', uuid, again)).toBe(1);
  expect((await scan(world)).reopened).toEqual([]);
});

it('a person of a deletion at the service comes back by itself once the service shows it by its id, too', async () => {
  const { world, uuid, createdAt } = await deletedThere();
  world.backUp();
  const sent = bringBack(world, uuid, createdAt);
  world.intercept((asked, send) => (isAbout(world, uuid, asked.path) ? Promise.resolve(answer(404)) : send()));
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', listedAgain: { letIn: 0, staysOut: 1 } });
  expect(statusOf(world)).toEqual({ letIn: 0, out: [{ why: 'not_found', rows: 1 }] });
  world.intercept((_asked, send) => send());
  expect(await world.reconcile()).toMatchObject({ outcome: 'done', listedAgain: { letIn: 1, staysOut: 0 } });
  expect(statusOf(world)).toEqual({ letIn: 1, out: [] });
  await world.sync();
  expect(counted(world, 'persons WHERE uuid = ?', uuid)).toBe(1);
  // Nor does an older mirror take it out again.
  world.restore();
  await world.reconcile();
  await world.sync();
  expect(counted(world, 'persons WHERE uuid = ?', uuid)).toBe(1);
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 1 });
  expect({ ...sent, isLiving: world.living().includes(uuid) }).toEqual({ deletions: 0, isLiving: true });
  expectSoundLedger(world);
});

it('a recording comes back in the same way; what its list shows no more is forgotten', async () => {
  const { world } = await worldWithPerson();
  const [id = ''] = world.db().prepare<[], string>('SELECT id FROM recordings').pluck().all();
  const without = (isShown: boolean): void =>
    world.intercept(async (asked, send) => {
      if (asked.path.includes(`/session_recordings/${encodeURIComponent(id)}`)) return answer(404);
      const reply = await send();
      if (isShown || !asked.path.includes('/session_recordings/?')) return reply;
      const page = JSON.parse(reply.bytes.toString()) as { results: { id: string }[] };
      const results = page.results.filter((row) => row.id !== id);
      return { ...reply, bytes: Buffer.from(JSON.stringify({ ...page, count: results.length, results })) };
    });
  without(false);
  await world.sync();
  await world.reconcileToTheEnd();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', origin: 'upstream' });
  without(true);
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', listedAgain: { staysOut: 1 } });
  without(false);
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ outcome: 'done', listedAgain: { staysOut: 0 } });
  world.intercept((_asked, send) => send());
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ outcome: 'done', listedAgain: { letIn: 1 } });
  await world.sync();
  expect(counted(world, 'recordings WHERE id = ?', id)).toBe(1);
  expectSoundLedger(world);
});

it('a recording of a request that somebody asked for is listed again: an operator decides', async () => {
  const { world } = await worldWithPerson();
  const [uuid = ''] = world.db().prepare<[], string>('SELECT person_uuid FROM recordings').pluck().all();
  const own = world.db().prepare<[string], string>('SELECT id FROM recordings WHERE person_uuid = ?').pluck().all(uuid);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) =>
    own.some((id) => asked.path.includes(`/session_recordings/${encodeURIComponent(id)}`))
      ? Promise.resolve(answer(404))
      : send(),
  );
  await world.reconcileToTheEnd();
  expect(world.onlyRequest().state).toBe('sealed');
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ outcome: 'held' });
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'listed_again', generation: 2 });
  await world.erase((job) => approveRequest(job, world.onlyRequest().id));
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2 });
  expectSoundLedger(world);
});

it('a recording that is listed again is deleted there by the steps that the advice names', async () => {
  const { world } = await worldWithPerson();
  const rows = world.db().prepare<[], [string, string, string]>('SELECT id, person_uuid, distinct_id FROM recordings');
  const [[, uuid, distinctId] = ['', '', '']] = rows.raw().all();
  const own = new Set(rows.all().flatMap(([id, ofPerson]) => (ofPerson === uuid ? [encodeURIComponent(id)] : [])));
  const isOwn = (path: string): boolean => own.has(/\/session_recordings\/([^/?]+)/.exec(path)?.[1] ?? '');
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) => (isOwn(asked.path) ? Promise.resolve(answer(404)) : send()));
  await world.reconcileToTheEnd();
  world.intercept((_asked, send) => send());
  await world.sync();
  await world.reconcile();
  const { id } = world.onlyRequest();
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'listed_again' });

  // The person is gone, and the fence keeps out what is left of it: the uuid leads to nothing.
  expect(await world.request([{ kind: 'uuid', value: uuid }])).toMatchObject([{ reason: 'already_erased' }]);
  expect(adviceText('listed_again')).toContain(
    'Of a recording alone the uuid leads to nothing: `erase readmit`, `sync`, and `erase add` by its distinct id',
  );
  await world.erase((job) => void readmit(job, [id], 'to delete it there'));
  await world.sync();
  const [added] = await world.request([{ kind: 'distinct_id', value: distinctId }]);
  expect(added).toMatchObject({ reason: null, recordings: own.size });
  const asked = new Set<string>();
  world.intercept((request, send) => {
    if (isOwn(request.path)) asked.add(request.path);
    return send();
  });
  await world.reconcileToTheEnd();
  expect(asked.size).toBe(own.size);
  expect(listRequests(world.db(), 'all').find((request) => request.id === added?.id)?.state).toBe('sealed');
  expectSoundLedger(world);
});

const statusOf = ({ db, clock }: ErasureWorld) => gatherRequests(db(), isoTime(clock.now())).erasure.listedAgain;

it('a person of two requests is let in by both together, and by none while a third is about to erase the person', async () => {
  const { world, uuid } = await worldWithPerson();
  await world.request([
    { kind: 'uuid', value: uuid },
    { kind: 'distinct_id', value: name },
  ]);
  await world.reconcileToTheEnd();
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
  expect({ count, isLiving: world.living().includes(uuid) }).toEqual({ count: 1, isLiving: true });
});

const scan = (world: ErasureWorld, also: string[] = []) => world.erase((job) => scanRequests(job, [], also));

it('a scan that finds somebody of a sealed request opens the request, until the file is gone', async () => {
  const { world, uuid } = await erased();
  const { id } = world.onlyRequest();
  const stray = join(world.dataDir, 'tmp', 'notes.json');
  writeFileSync(stray, JSON.stringify({ person: { uuid, distinct_ids: [name] } }));
  expect(await scan(world)).toMatchObject({ reopened: [id] });
  expect(records(world)).toEqual(['reopened 2 residue_found']);
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'residue_found' });
  expect((await scan(world)).reopened).toEqual([]);
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'residue_found', generation: 2 });
  rmSync(stray);
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2, certifiedAt: expect.any(String) });
  expectSoundLedger(world);
});

it('what a scan finds in the mirror of a sealed request is erased at the next reconciliation', async () => {
  const { world, uuid } = await erased();
  world
    .db()
    .prepare(
      `INSERT INTO persons (uuid, name, created_at, properties, first_seen_pass, changed_at) VALUES (?, ?, '', '{}', 1, '')`,
    )
    .run(uuid, name);
  expect(await scan(world)).toMatchObject({ reopened: [world.onlyRequest().id] });
  await world.reconcileToTheEnd();
  expect(world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck().get(uuid)).toBe(0);
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2 });
  expectSoundLedger(world);
});

it('what lies outside the data folder contradicts no certificate, and no proof of a request that waits for the service', async () => {
  const { world, uuid } = await worldWithPerson();
  const file = join(world.dataDir, '..', `outside-${uuid}.json`);
  writeFileSync(file, JSON.stringify({ uuid }));
  onTestFinished(() => rmSync(file));
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'awaiting_upstream', sealedAt: null });
  const open = await scan(world, [file]);
  expect(open.report.subjects.map(({ hits }) => hits > 0)).toEqual([true]);
  expect(open.reopened).toEqual([]);
  await world.reconcileToTheEnd();
  const { report, reopened } = await scan(world, [file]);
  expect(report.fenced).toHaveLength(1);
  expect(reopened).toEqual([]);
});
