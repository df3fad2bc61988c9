import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { acknowledgeRequest } from '../../../src/erasure/acknowledge.ts';
import { verify } from '../../../docs/verifier/verify.mjs';
import { certificateWords } from '../../../docs/verifier/certificate-words.mjs';
import { certificatePath } from '../../../src/erasure/proof/certificate-file.ts';
import { readCertificate } from '../../../src/erasure/proof/certificate.ts';
import { problemsOf } from '../bound/bound-world.ts';
import { openErasureWorld } from '../erasure-world.ts';

it('a certificate counts its own rows alone, and begins with what was kept', async () => {
  const world = await openErasureWorld(5, [{ path: 'export.consumers', value: ['warehouse', 'crm-team'] }]);
  const uuids = [['ann'], ['bob', 'bob-2'], ['cleo', 'cleo-2', 'cleo-3']].map((ids) => world.create(ids));
  await world.syncAndPublish();
  const request = async (uuid = '', deleteEvents = true) =>
    (await world.request([{ kind: 'uuid', value: uuid }], undefined, deleteEvents))[0]?.id ?? '';
  const ids = [await request(uuids[0], false), await request(uuids[1]), await request(uuids[2])];
  await world.reconcile();
  // The certificate of the second waits for the events; one consumer has deleted by then.
  await world.erase((job) => acknowledgeRequest(job, ids[1] ?? '', { consumer: 'warehouse' }));
  world.pass(14);
  await world.reconcile();
  const texts = ids.map((id) => readFileSync(certificatePath(world.dataDir, id, 1), 'utf8'));
  const told = texts.map((text) => readCertificate(text));
  const rowsOf = (dataset: string): (number | null)[] =>
    told.map((each) =>
      (each?.targets ?? [])
        .filter(({ target }) => target.startsWith(`snapshot:${dataset}/`))
        .reduce((sum, { rows_removed: rows }) => sum + (rows ?? 0), 0),
    );
  expect(rowsOf('persons')).toEqual([1, 1, 1]);
  expect(rowsOf('distinct_ids')).toEqual([1, 2, 3]);
  expect(told[0]).toMatchObject({
    format_version: 1,
    consumers: [
      { consumer: 'crm-team', acknowledged_at: null },
      { consumer: 'warehouse', acknowledged_at: null },
    ],
    weakest_assurance: 'not_reached',
    stated: { controller: null, service: null },
  });
  expect(told.slice(0, 2).map((each) => certificateWords(each ?? {}).summary)).toEqual([
    'Erased in our copy on 2026-11-18; deleted at the service on 2026-11-18; events kept, as requested.',
    expect.stringMatching(/events not verifiable\.$/),
  ]);
  expect(told[1]).toMatchObject({
    consumers: [{ acknowledged_at: null }, { consumer: 'warehouse', acknowledged_at: expect.any(String) as string }],
  });
  expect(told[1]?.weakest_assurance).toBe('not_verifiable');
  const certificates = Object.fromEntries(texts.map((text, at) => [String(at), Buffer.from(text)]));
  const alone = verify({ folder: join(world.dataDir, 'ledger'), certificates, now: world.clock.now() });
  expect(alone.problems).toEqual([]);
  expect((await problemsOf(world)).filter((problem) => problem.startsWith('certificate'))).toEqual([]);
});
