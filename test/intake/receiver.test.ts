import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { cancelRequest } from '../../src/erasure/receive.ts';
import { isAbout, Receipt } from '../../src/erasure/request/receipt.ts';
import { boxDetailsOf } from '../../src/erasure/request/box.ts';
import { runJob } from '../../src/job/run-job.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { startReceiver } from '../../src/intake/receiver.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { deskKey, digestOf, eraseBody, openIntakeWorld, senderOf, step } from './intake-world.ts';

const ann = 'ann@canary.example';

it('a request is answered by its receipt, which the verifier accepts with the ledger', async () => {
  const world = await openIntakeWorld();
  const { status, text, headers } = await world.post(eraseBody(ann, { reference: 'T-812', identity: 'logged_in' }));
  expect(status).toBe(201);
  const receipt = Receipt.parse(JSON.parse(text));
  expect(headers.get('location')).toBe(`/v1/requests/${receipt.request}`);
  expect(text).not.toContain('canary');
  const file = join(freshFolder(), 'receipt.json');
  writeFileSync(file, text);
  expect(verify({ folder: join(world.dataDir, 'ledger'), receipt: text })).toMatchObject({ ok: true, problems: [] });
  const history = readLedger(world.dataDir).histories.of(receipt.request);
  expect(history).toMatchObject({ state: 'received', basis: 'consumer_request', decision: { identity: 'logged_in' } });
  expect(isAbout(receipt, history?.subject ?? '', [{ kind: 'email', value: ann }])).toBe(true);
  expect(listRequests(world.db(), 'open')).toMatchObject([{ id: receipt.request, authorisedBy: 'privacy-desk/T-812' }]);
  expect(boxDetailsOf(world.context(), receipt.request)?.given).toEqual([{ kind: 'email', value: ann }]);
});

it('the same request is received once: the same receipt, also after a restart, and by several at the same moment', async () => {
  const world = await openIntakeWorld();
  const key = randomUUID();
  const first = await Promise.all(Array.from({ length: 5 }, () => world.post(eraseBody(ann), key)));
  await world.post(eraseBody('bob@canary.example'));
  await world.restart();
  const again = await world.post(JSON.stringify(eraseBody(ann), null, 3), key);
  for (const each of first) expect(each.text).toBe(again.text);
  expect(listRequests(world.db(), 'all')).toHaveLength(2);
});

it('another request under the same idempotency key is refused, and so is none that another sender has', async () => {
  const other = 'o'.repeat(40);
  const world = await openIntakeWorld([senderOf(), senderOf({ name: 'other', keys: [digestOf(other)] })]);
  const key = randomUUID();
  const first = await world.post(eraseBody(ann), key);
  for (const body of [eraseBody('bob@canary.example'), eraseBody(ann, { keep_events: true })])
    expect(await world.post(body, key)).toMatchObject({ status: 409, body: { title: 'other' } });
  const second = await world.post(eraseBody(ann), key, { key: other });
  expect(second).toMatchObject({ status: 201 });
  expect(second.body['request']).not.toBe(first.body['request']);
  const id = String(first.body['request']);
  expect(await world.get(id)).toMatchObject({ status: 200, body: { state: 'received' } });
  expect(await world.get(id, { key: other })).toMatchObject({ status: 404, body: { title: 'no_such_request' } });
});

it('neither the key of the sender nor the idempotency key nor the identifier lies in the data folder in clear', async () => {
  const world = await openIntakeWorld();
  const key = `idem-${randomUUID()}`;
  await world.post(eraseBody(ann), key);
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const files = readdirSync(world.dataDir, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(world.dataDir, name),
  );
  for (const file of files.filter((path) => statSync(path).isFile()))
    for (const secret of [key, deskKey, ann]) expect(readFileSync(file).includes(secret)).toBe(false);
});

it('a request that was cancelled is received anew when it is sent again', async () => {
  const world = await openIntakeWorld();
  const key = randomUUID();
  const ids = new Set<unknown>();
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const { status, body } = await world.post(eraseBody(ann), key);
    expect(status).toBe(201);
    ids.add(body['request']);
    await step(world, (job) => cancelRequest(job, String(body['request'])));
  }
  expect(ids.size).toBe(8);
  expect(await world.post(eraseBody(ann), key)).toMatchObject({ status: 409, body: { title: 'used_up' } });
});

it('a request is received between two steps of a run of this process, whatever the run is', async () => {
  const world = await openIntakeWorld();
  const receipt = await runJob(world.context(), 'reconcile', async (own) => {
    const before = own.ledger().size();
    const { status, text } = await world.post(eraseBody(ann));
    expect(status).toBe(201);
    expect(own.ledger().size()).toBeGreaterThan(before);
    return { outcome: 'done', counts: {}, text } as const;
  });
  expect(verify({ folder: join(world.dataDir, 'ledger'), receipt: receipt.text })).toMatchObject({ ok: true });
  // What a run has appended is read before the next request is received.
  expect(await world.post(eraseBody('bob@canary.example'))).toMatchObject({ status: 201 });
  expect(listRequests(world.db(), 'open')).toHaveLength(2);
});

it('within a long transaction of a run nothing is received, and the sender is told to come again', async () => {
  const world = await openIntakeWorld();
  const key = randomUUID();
  await runJob(world.context(), 'reconcile', async (own) => {
    own.db.exec('BEGIN IMMEDIATE');
    expect(await world.post(eraseBody(ann), key)).toMatchObject({ status: 503, body: { title: 'unavailable' } });
    expect(own.ledger().size()).toBe(0);
    own.db.exec('ROLLBACK');
    return { outcome: 'done', counts: {} };
  });
  expect(await world.post(eraseBody(ann), key)).toMatchObject({ status: 201 });
  expect(listRequests(world.db(), 'open')).toHaveLength(1);
});

it('no receipt is given while the data folder of a run is away: its request would lie in another one', async () => {
  const world = await openIntakeWorld();
  const away = `${world.dataDir}.away`;
  await runJob(world.context(), 'reconcile', async () => {
    renameSync(world.dataDir, away);
    expect(await world.post(eraseBody(ann))).toMatchObject({ status: 503, body: { title: 'unavailable' } });
    expect(existsSync(world.dataDir)).toBe(false);
    renameSync(away, world.dataDir);
    return { outcome: 'done', counts: {} };
  });
  expect(await world.post(eraseBody(ann))).toMatchObject({ status: 201 });
});

it('an older mirror does not forget a request: the ledger has it, and its sender can give the identifier again', async () => {
  const world = await openIntakeWorld();
  await world.post(eraseBody('first@canary.example'));
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const older = readFileSync(databasePath(world.dataDir));
  const key = randomUUID();
  const { text, body } = await world.post(eraseBody(ann), key);
  const id = String(body['request']);
  await world.restart(() => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${databasePath(world.dataDir)}${suffix}`, { force: true });
    writeFileSync(databasePath(world.dataDir), older);
  });
  expect(await world.get(id)).toMatchObject({ status: 200, body: { state: 'received' } });
  expect(boxDetailsOf(world.context(), id)).toBeUndefined();
  expect((await world.post(eraseBody(ann), key)).text).toBe(text);
  expect(boxDetailsOf(world.context(), id)?.given).toEqual([{ kind: 'email', value: ann }]);
});

it('of more calls than can be served, the last ones are answered, and the first are told to come again', async () => {
  const world = await openIntakeWorld();
  const receiver = startReceiver(world.context, world.clock);
  const asked = Array.from({ length: 1_200 }, () => receiver.ask({ find: randomUUID() }));
  const told = await Promise.all(asked);
  const isLate = told.map((each) => 'unavailable' in each);
  expect(isLate.slice(0, 200)).not.toContain(false);
  expect(isLate.slice(200)).not.toContain(true);
  await receiver.close();
  expect(await receiver.ask({ find: randomUUID() })).toEqual({ unavailable: 'interrupted' });
});
