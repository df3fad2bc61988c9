import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gatherReport } from '../../src/audit/report-data.ts';
import { reportPage } from '../../src/audit/report-page.ts';
import { readCertificate, type Certificate } from '../../src/erasure/proof/certificate.ts';
import { certificatePath } from '../../src/erasure/proof/certificate-file.ts';
import { reopenRequest } from '../../src/erasure/request/reopen.ts';
import { readmit } from '../../src/erasure/readmit.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { type ErasureRequest } from '../../src/mirror/erasure-requests.ts';
import { readBox } from '../../src/mirror/request-box.ts';
import { listOpenTargets, listTargets } from '../../src/mirror/erasure-targets.ts';
import { readFenceUse } from '../../src/mirror/fence.ts';
import { currentPlace } from '../../src/snapshot/published-files.ts';
import { problemsOf } from './bound/bound-world.ts';
import { openKnownWorld, type ErasureWorld } from './erasure-world.ts';

const name = 'long-lived-canary@x.example';
const damaged = /CURRENT\.json/;
const confirmedTwice = [
  { path: 'deletions.confirmations', value: 2 },
  { path: 'deletions.confirmAfterSeconds', value: 600 },
];

/** Whether the mirror's file, or the log beside it, holds some bytes. */
function isInFiles({ dataDir }: ErasureWorld, bytes: Buffer | string): boolean {
  return [databasePath(dataDir), `${databasePath(dataDir)}-wal`].some(
    (path) => existsSync(path) && readFileSync(path).includes(bytes),
  );
}

function certificateOf({ dataDir }: ErasureWorld, { id, generation }: ErasureRequest): Certificate | undefined {
  const path = certificatePath(dataDir, id, generation);
  return existsSync(path) ? readCertificate(readFileSync(path, 'utf8')) : undefined;
}

function target(world: ErasureWorld, name: string) {
  return listTargets(world.db(), world.onlyRequest().id).find((each) => each.target === name);
}

/** Ended without its proof: nobody can be told from the request any more, and nobody says that the person is gone. */
async function expectSealedUnproved(world: ErasureWorld, box: Buffer): Promise<void> {
  const request = world.onlyRequest();
  expect(request).toMatchObject({ state: 'sealed', reason: 'life_exceeded', certifiedAt: null, authorisedBy: null });
  expect(readBox(world.db(), request.id)).toBeUndefined();
  expect(isInFiles(world, box)).toBe(false);
  expect(certificateOf(world, request)).toBeUndefined();
  expect(listOpenTargets(world.db())).toEqual([]);
  const { settings, clock } = world;
  const [reported] = gatherReport({ db: world.db(), settings, nowMs: clock.now() }).requests;
  expect(reported).toMatchObject({
    state: 'sealed',
    reason: 'life_exceeded',
    completedAt: null,
    certificate: null,
    isOverdue: false,
  });
  expect(await problemsOf(world)).toEqual([]);
}

/** A request for somebody whom the service deletes, and has again a day later. */
async function comesBack(world: ErasureWorld, uuid: string): Promise<void> {
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcile();
  world.sandbox.act({ do: 'resurrect', uuid });
  world.pass(1);
  await world.reconcile();
}

describe('the time of a request', () => {
  it('ends it where something of the person is still here: without its identifiers, and without a certificate', async () => {
    const { world, given } = await openKnownWorld(name);
    writeFileSync(join(world.dataDir, 'reports-left.txt'), name);
    await world.request(given);
    expect(await world.reconcile()).toMatchObject({ erasure: { residue: 1 } });
    world.pass(59);
    await world.reconcile();
    const box = readBox(world.db(), world.onlyRequest().id) ?? Buffer.of();
    expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'residue_found' });
    world.pass(1);
    await world.reconcile();
    await expectSealedUnproved(world, box);
    expect(target(world, 'mirror')).toMatchObject({ status: 'attention', reason: 'life_exceeded' });
    expect(await world.reconcile()).toMatchObject({ erasure: { sealed: 0, attention: 0 } });
    // The fence stands, and can be lifted as that of any other.
    const { id } = world.onlyRequest();
    expect(readFenceUse(world.db(), id).entries).toBeGreaterThan(0);
    const ledger = openLedger(world.dataDir, world.clock);
    readmit({ ...world, db: world.db(), ledger: () => ledger }, [id], 'x');
    expect(readFenceUse(world.db(), id).entries).toBe(0);
  });

  it('ends it where published files cannot be listed, and no reconciliation comes to its end', async () => {
    const { world, given } = await openKnownWorld(name);
    await world.request(given);
    const box = readBox(world.db(), world.onlyRequest().id) ?? Buffer.of();
    writeFileSync(join(world.dataDir, currentPlace), 'damaged');
    await expect(world.reconcile()).rejects.toThrow(damaged);
    expect(world.onlyRequest().state).toBe('scoped');
    world.pass(61);
    await expect(world.reconcile()).rejects.toThrow(damaged);
    expect(world.onlyRequest()).toMatchObject({ state: 'cancelled' });
    expect(readBox(world.db(), world.onlyRequest().id)).toBeUndefined();
    expect(isInFiles(world, box)).toBe(false);
  });

  it('ends a later generation that never came to its fence', async () => {
    const { world, given } = await openKnownWorld(name);
    await world.request(given);
    await world.reconcile();
    const { id } = world.onlyRequest();
    const ledger = openLedger(world.dataDir, world.clock);
    reopenRequest({ db: world.db(), clock: world.clock, ledger: () => ledger }, id, 'residue_found');
    const box = readBox(world.db(), id) ?? Buffer.of();
    writeFileSync(join(world.dataDir, currentPlace), 'damaged');
    world.pass(61);
    await expect(world.reconcile()).rejects.toThrow(damaged);
    rmSync(join(world.dataDir, 'snapshots'), { recursive: true });
    // The ledger has them as published: a reconciliation records that they are gone.
    await world.reconcile();
    expect(world.onlyRequest().generation).toBe(2);
    await expectSealedUnproved(world, box);
  });

  it('certifies what is proved, and says of whom the service showed last that the person is there', async () => {
    const { world, uuid } = await openKnownWorld(name, confirmedTwice);
    await comesBack(world, uuid);
    expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'recreated' });
    world.pass(60);
    await world.reconcile();
    const request = world.onlyRequest();
    expect(request).toMatchObject({ state: 'sealed', reason: null });
    const certificate = certificateOf(world, request);
    expect(certificate?.targets.find((each) => each.target === 'upstream.person')).toMatchObject({
      result: 'still_present',
      assurance: 'not_reached',
    });
    const { settings, clock } = world;
    const report = gatherReport({ db: world.db(), settings, nowMs: clock.now() });
    expect(reportPage(report)).toContain('still there when last asked">✗</abbr>');
    expect(await problemsOf(world)).toEqual([]);
  });
});

describe('somebody who has come back at the service', () => {
  it('is deleted there anew when somebody asks for it once more, as the next generation', async () => {
    const { world, uuid, given } = await openKnownWorld(name, confirmedTwice);
    await comesBack(world, uuid);
    const lives = (): boolean => world.living().includes(uuid);
    expect([world.onlyRequest().reason, lives()]).toEqual(['recreated', true]);
    const [added] = await world.request(given);
    expect(added).toMatchObject({ isKnown: true, state: 'scoped' });
    expect(world.onlyRequest().generation).toBe(2);
    await world.reconcile();
    expect(lives()).toBe(false);
    for (let days = 0; days < 15; days += 3) {
      world.pass(3);
      await world.reconcile();
    }
    const request = world.onlyRequest();
    expect(request).toMatchObject({ state: 'sealed', generation: 2 });
    expect(target(world, 'upstream.person')).toMatchObject({ result: 'deleted' });
    expect(certificateOf(world, request)?.generation).toBe(2);
    expect(await problemsOf(world)).toEqual([]);
  });

  it('is noticed again when it comes back once more', async () => {
    const { world, uuid, given } = await openKnownWorld(name, confirmedTwice);
    await world.request(given);
    for (let times = 1; times <= 2; times += 1) {
      await world.reconcile();
      world.sandbox.act({ do: 'resurrect', uuid });
      world.pass(1);
      await world.reconcile();
      expect(world.onlyRequest()).toMatchObject({ generation: times, reason: 'recreated' });
      await world.request(given);
    }
    expect(world.onlyRequest()).toMatchObject({ generation: 3, state: 'scoped' });
  });
});

describe('what was deleted while somebody read the mirror', () => {
  it('is purged by the next reconciliation: the key of an erased person in the feed', async () => {
    const { world, uuid, given } = await openKnownWorld(name);
    await world.request(given);
    await world.reconcileToTheEnd();
    expect(world.onlyRequest().state).toBe('sealed');
    world.pass(31);
    // Nobody can have read of the deletion before it is published.
    expect(await world.reconcile()).toMatchObject({ erasure: { feedExpired: 0 } });
    await world.publish();
    world.pass(29);
    expect(await world.reconcile()).toMatchObject({ erasure: { feedExpired: 0 } });
    world.pass(2);
    const { default: Sqlite } = await import('better-sqlite3');
    const reader = new Sqlite(databasePath(world.dataDir), { readonly: true });
    reader.exec('BEGIN');
    reader.prepare(`SELECT count(*) FROM persons`).get();
    expect(await world.reconcile()).toMatchObject({ erasure: { feedExpired: 1 } });
    reader.exec('COMMIT');
    reader.close();
    expect(isInFiles(world, uuid)).toBe(true);
    expect(await world.reconcile()).toMatchObject({ erasure: { feedExpired: 0 } });
    expect(isInFiles(world, uuid)).toBe(false);
  });

  it('is purged by the next reconciliation: the identifiers of a request that was given up', async () => {
    const { world, given } = await openKnownWorld(name);
    await world.request(given);
    const box = readBox(world.db(), world.onlyRequest().id) ?? Buffer.of();
    await world.cancelAll();
    expect(isInFiles(world, box)).toBe(true);
    await world.reconcile();
    expect(isInFiles(world, box)).toBe(false);
  });
});
