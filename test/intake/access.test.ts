import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { openReceipt } from '../../src/audit/open-receipt.ts';
import { gatherReport } from '../../src/audit/report-data.ts';
import { endAccess, namedForAccess } from '../../src/erasure/access.ts';
import { requestDifferences } from '../../src/erasure/bound/differences.ts';
import { Receipt } from '../../src/erasure/request/receipt.ts';
import { approveRequest, cancelRequest } from '../../src/erasure/receive.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { hasBox } from '../../src/mirror/request-box.ts';
import { gatherRequests } from '../../src/status/gather-requests.ts';
import { readProjectCondition } from '../../src/worker/read-project.ts';
import { eraseBody, openIntakeWorld, senderOf, step, type IntakeWorld } from './intake-world.ts';

const ann = 'ann@canary.example';
const accessBody = (value: string, more: object = {}): object => ({ ...eraseBody(value, more), type: 'access' });
const named = [{ kind: 'email', value: ann }];
const folderOf = ({ dataDir }: IntakeWorld): string => join(dataDir, 'ledger');

it('a request for access is answered by its receipt, and is no request for erasure', async () => {
  const world = await openIntakeWorld();
  const { status, text, body } = await world.post(accessBody(ann, { reference: 'T-1', identity: 'logged_in' }));
  expect(status).toBe(201);
  expect(text).not.toContain('canary');
  expect(verify({ folder: folderOf(world), receipt: text })).toMatchObject({ ok: true, problems: [] });
  const id = String(body['request']);
  const opened = openReceipt(world.dataDir, readLedger(world.dataDir), Receipt.parse(body), [
    { kind: 'email', value: ann },
  ]);
  expect(opened).toMatchObject({ verdict: 'is_about', isAccess: true, certificates: [] });
  expect(listRequests(world.db(), 'all')).toEqual([]);
  expect(listRequests(world.db(), 'open', 'access')).toMatchObject([{ id, authorisedBy: 'privacy-desk/T-1' }]);
  expect([...readLedger(world.dataDir).histories.all()]).toEqual([]);
  expect(namedForAccess(world.context(), id.slice(0, 8))).toEqual(named);
  for (const act of [approveRequest, cancelRequest])
    await expect(step(world, (job) => act(job, id))).rejects.toThrow('is for access, not for erasure');
  expect(requestDifferences(world.db(), readLedger(world.dataDir))).toEqual([]);
});

it('once it is answered, its identifiers are destroyed, its sender is told, and it ends for good', async () => {
  const world = await openIntakeWorld([senderOf({ outcome: true })]);
  const { body } = await world.post(accessBody(ann));
  const id = String(body['request']);
  await step(world, (job) => endAccess(job, id, 'answered'));
  expect(hasBox(world.db(), id)).toBe(false);
  expect(await world.get(id)).toMatchObject({ body: { state: 'closed', outcome: 'answered' } });
  expect(() => namedForAccess(world.context(), id)).toThrow('are not here');
  for (const end of ['answered', 'cancelled'] as const)
    await expect(step(world, (job) => endAccess(job, id, end))).rejects.toThrow('has ended');
  expect(requestDifferences(world.db(), readLedger(world.dataDir))).toEqual([]);
  expect(verify({ folder: folderOf(world) })).toMatchObject({ problems: [] });
});

it('one that is cancelled is received anew when it is sent again', async () => {
  const world = await openIntakeWorld();
  const key = randomUUID();
  const first = await world.post(accessBody(ann), key);
  await step(world, (job) => endAccess(job, String(first.body['request']), 'cancelled'));
  const second = await world.post(accessBody(ann), key);
  expect(second.status).toBe(201);
  expect(second.body['request']).not.toBe(first.body['request']);
  expect(listRequests(world.db(), 'open', 'access')).toHaveLength(1);
});

it('an erasure under the idempotency key of an access is refused', async () => {
  const world = await openIntakeWorld();
  const key = randomUUID();
  await world.post(accessBody(ann), key);
  expect(await world.post(eraseBody(ann), key)).toMatchObject({ status: 409, body: { title: 'other' } });
});

it('an older mirror forgets no request: its sender can give the identifier again, and one that was answered stays so', async () => {
  const world = await openIntakeWorld();
  const keys = [randomUUID(), randomUUID()] as const;
  const before = await world.post(accessBody('bob@canary.example'), keys[0]);
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  const older = readFileSync(databasePath(world.dataDir));
  await step(world, (job) => endAccess(job, String(before.body['request']), 'answered'));
  const after = await world.post(accessBody(ann), keys[1]);
  await world.restart(() => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${databasePath(world.dataDir)}${suffix}`, { force: true });
    writeFileSync(databasePath(world.dataDir), older);
  });
  const again = await world.post(accessBody(ann), keys[1]);
  expect(again.text).toBe(after.text);
  expect(namedForAccess(world.context(), String(after.body['request']))).toEqual(named);
  expect(hasBox(world.db(), String(before.body['request']))).toBe(false);
});

it('its clock is seen: the page counts it, and past its due date an alert and the report do', async () => {
  const world = await openIntakeWorld();
  const { body } = await world.post(accessBody(ann));
  const { settings } = world.context();
  const reportAt = (nowMs: number) => gatherReport({ db: world.db(), settings, nowMs }).access;
  const dueMs = Date.parse(listRequests(world.db(), 'open', 'access')[0]?.dueAt ?? '');
  const overdueAt = (nowMs: number) =>
    readProjectCondition(world.db(), { name: 'shop', ...settings }, nowMs).overdueAccess;
  expect([overdueAt(dueMs), overdueAt(dueMs + 1)]).toEqual([0, 1]);
  const dueAt = new Date(dueMs).toISOString();
  const { access } = gatherRequests(world.db(), dueAt).erasure;
  expect(access).toEqual({ open: 1, overdue: 0, nextDueAt: dueAt });
  expect(reportAt(dueMs + 1)).toMatchObject({ received: 1, open: 1, overdue: 1, answered: 0, late: 0 });
  world.clock.nowMs = dueMs + 1;
  await step(world, (job) => endAccess(job, String(body['request']), 'answered'));
  expect(reportAt(dueMs + 2)).toMatchObject({ received: 1, open: 0, overdue: 0, answered: 1, late: 1 });
});
