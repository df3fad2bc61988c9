import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findMissingAnchors } from '../../src/anchor/missing-anchors.ts';
import { settingsWith } from '../config/settings-with.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { privateKeyOf } from '../../src/ledger/note.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { runAnchorJob } from '../../src/worker/anchor-job.ts';
import { authorityServer, witnessServer } from '../anchor/servers.ts';
import { testWitness, witnessVkey } from '../anchor/witness.ts';
import { jobContext } from '../job/job-context.ts';
import { policyText } from '../ledger/anchored-vectors.ts';
import { lifeOf } from '../ledger/ledger-fixture.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const rootFile = fileURLToPath(new URL('../anchor/keys/authority-root.pem', import.meta.url));
const dayMs = 86_400_000;

/** A data folder with a request on its ledger, and an authority and a witness that it is anchored by. */
async function openWorld() {
  const { db, dataDir } = openTestMirror();
  const folder = join(dataDir, 'ledger');
  const clock = { ...systemClock, now: () => world.nowMs };
  const authority = await authorityServer(clock.now);
  const witness = await witnessServer(
    () => readFileSync(join(folder, 'public-keys.txt'), 'utf8').trim().split('\n'),
    clock.now,
  );
  const anchors = [
    { timeStampAuthority: authority.url, certificates: rootFile },
    { witness: witness.url, key: witnessVkey() },
  ];
  const settings = settingsWith({ dataDir, 'audit.anchors': anchors });
  const world = {
    nowMs: Date.now(),
    folder,
    authority,
    witness,
    settings,
    grow: (n: number, epoch = n) => openLedger(dataDir, clock).append(lifeOf(n, epoch).flat()),
    run: async () => {
      const { outcome, reason, anchors: asked } = await runAnchorJob(jobContext({ db, settings, clock }, {}));
      expect(listRuns(db, 1)[0]).toMatchObject({ job: 'anchor', outcome, reason: reason ?? null });
      return [reason ?? outcome, ...asked.map(({ result }) => result)];
    },
    says: async () => (await runAnchorJob(jobContext({ db, settings, clock }, {}))).anchors.map(({ says }) => says),
    files: () => readdirSync(join(folder, 'time-stamps')).map((file) => file.split('-')[0]),
    cosigned: () =>
      readdirSync(join(folder, 'checkpoints')).filter((file) =>
        readFileSync(join(folder, 'checkpoints', file), 'utf8').includes('witness.example'),
      ),
    /** What is found by the policy of an auditor. */
    problems: () =>
      verifyLedger({ folder, now: world.nowMs, policy: policyText(folder) }).problems.map(({ problem }) => problem),
  };
  world.grow(1);
  return world;
}

describe('the job anchor', () => {
  it('has the newest checkpoint stamped and cosigned, once', async () => {
    const world = await openWorld();
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect(world.problems()).toEqual([]);
    expect([world.files(), world.cosigned()]).toEqual([['000000019'], ['000000019.txt']]);
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    // The witness is asked again whether it has seen more; what it has said before is kept as it was.
    expect(world.witness.requests).toBe(2);
    expect(world.problems()).toEqual([]);
    expect(world.files()).toHaveLength(1);
    world.grow(2);
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect([world.files(), world.cosigned()]).toEqual([
      ['000000019', '000000038'],
      ['000000019.txt', '000000038.txt'],
    ]);
    expect(world.problems()).toEqual([]);
  });

  it('goes on without an anchor that is away, and gives it later what the others have', async () => {
    const world = await openWorld();
    world.witness.isAway = true;
    expect(await world.run()).toEqual(['anchor_away', 'anchored', 'away']);
    expect(world.problems()).toEqual(['nothing_anchored']);
    world.grow(2);
    world.witness.isAway = false;
    world.authority.isAway = true;
    expect(await world.run()).toEqual(['anchor_away', 'away', 'anchored']);
    world.authority.isAway = false;
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect(world.cosigned()).toEqual(['000000019.txt', '000000038.txt']);
    expect(world.problems()).toEqual([]);
  });

  it('learns from a witness what it has cosigned where its answer was lost', async () => {
    const world = await openWorld();
    world.witness.isMute = true;
    expect(await world.run()).toEqual(['anchor_away', 'anchored', 'away']);
    world.witness.isMute = false;
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect(world.witness.requests).toBe(3);
  });

  it('tells of a witness that has seen another ledger, also where both are signed with the right key', async () => {
    const world = await openWorld();
    const older = `${world.folder}-older`;
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    cpSync(world.folder, older, { recursive: true });
    world.grow(2);
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    const putOlder = (): void => {
      rmSync(world.folder, { recursive: true });
      cpSync(older, world.folder, { recursive: true });
    };
    putOlder();
    expect(await world.run()).toEqual(['anchor_refused', 'anchored', 'refused']);
    expect((await world.says())[1]).toContain('has seen 38 entries; this ledger has 19');
    for (const requests of [[3], [3, 4]]) {
      putOlder();
      for (const [index, n] of requests.entries()) world.grow(n, index + 2);
      expect(await world.run()).toEqual(['anchor_refused', 'anchored', 'refused']);
      expect((await world.says())[1]).toContain('has seen other entries');
      // The authority stamps what it is given: by a policy with a witness, the ledger is refused all the same.
      expect(world.problems()).toEqual([]);
      world.nowMs += 2 * 3_600_000;
      expect(world.problems()).toEqual(['unanchored_for_long']);
    }
  });

  it('calls an anchor missing when entries have waited for it for two days', async () => {
    const world = await openWorld();
    world.nowMs -= 3 * dayMs;
    world.grow(2);
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    world.grow(3);
    world.authority.isAway = true;
    expect(await world.run()).toEqual(['anchor_away', 'away', 'anchored']);
    expect(await findMissingAnchors(world.settings)).toEqual([
      expect.stringMatching(
        /^127\.0\.0\.1:\d+ has anchored 38 entries and none after them; the next entry has waited since /,
      ),
    ]);
    world.nowMs += 3 * dayMs;
    expect(await world.run()).toEqual(['anchor_missing', 'away', 'anchored']);
    world.authority.isAway = false;
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect(await findMissingAnchors(world.settings)).toEqual([]);
    // It came too late for these entries, and an auditor sees that.
    expect(world.problems()).toContain('anchored_late');
  });

  it('keeps no answer that is not right', async () => {
    const world = await openWorld();
    for (const shape of [{ certificate: 'authority-loose' }, { nonce: '7f' }, { isForged: true }] as const) {
      world.authority.shape = shape;
      expect(await world.run()).toEqual(['anchor_away', 'away', 'anchored']);
    }
    expect(() => world.files()).toThrow('ENOENT');
    world.authority.shape = { key: 'authority-ec' };
    expect(await world.run()).toEqual(['done', 'anchored', 'anchored']);
    expect(world.problems()).toEqual([]);
  });

  it('keeps no cosignature of another key, and says where the witness does not know the ledger', async () => {
    const world = await openWorld();
    world.witness.signer = { ...testWitness, privateKey: privateKeyOf(Buffer.alloc(32, 0x66)) };
    expect((await world.says())[1]).toMatch(/^gave no cosignature of its key \(status 200\)$/);
    world.witness.keys = [];
    expect((await world.says())[1]).toContain('does not know this ledger');
    expect(world.cosigned()).toEqual([]);
  });

  it('takes settings that are right only', async () => {
    const load = (...anchors: object[]) => settingsWith({ 'audit.anchors': anchors });
    for (const wrong of [
      { witness: 'http://witness.example', key: witnessVkey() },
      { timeStampAuthority: 'https://tsa.example' },
      { witness: 'https://witness.example', key: witnessVkey(), certificates: rootFile },
    ])
      expect(() => load(wrong)).toThrow('audit.anchors.0');
    for (const wrong of [
      { witness: 'https://witness.example', key: 'witness.example+00000000+AAAA' },
      { timeStampAuthority: 'https://tsa.example', certificates: '/no/such/file' },
      { timeStampAuthority: 'https://tsa.example', certificates: fileURLToPath(new URL(import.meta.url)) },
    ])
      await expect(findMissingAnchors(load(wrong))).rejects.toMatchObject({ code: 'usage' });
    expect(await findMissingAnchors(load())).toEqual([]);
  });
});
