import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { amendRequest } from '../../src/erasure/amend.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { readHistories } from '../../src/ledger/histories.ts';
import { findRequest } from '../../src/mirror/erasure-requests.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { findTexts } from './find-texts.ts';

const name = 'Johannes.Mustermann-the-Elder';

async function worldWithRequest(kept: { by: string; basis: string }): Promise<{ world: ErasureWorld; id: string }> {
  const world = await openErasureWorld(5);
  const uuid = world.create([name], { email: 'li@wu.cn' });
  await world.sync();
  const [request] = await world.request([{ kind: 'uuid', value: uuid }]);
  // Whatever commands refuse: the words stand there.
  world.db().prepare(`UPDATE erasure_requests SET authorised_by = ?, basis = ?`).run(kept.by, kept.basis);
  return { world, id: request?.id ?? '' };
}

const amend = (world: ErasureWorld, id: string, change: Parameters<typeof amendRequest>[2]) =>
  world.erase((job) => amendRequest(job, id, change));

it('a name in the words of a request keeps it open, until the words are amended', async () => {
  const { world, id } = await worldWithRequest({ by: name, basis: `asked-by-${name}` });
  await world.reconcile();
  expect(findRequest(world.db(), id)).toMatchObject({ state: 'attention', reason: 'residue_found' });
  const request = await amend(world, id, { by: 'TICKET-1', basis: 'art-17' });
  expect(request).toMatchObject({ authorisedBy: 'TICKET-1', basis: 'art-17' });
  expect((await findTexts(world.dataDir, [name])).get(name) ?? []).toEqual([]);
  await world.reconcile();
  expect(findRequest(world.db(), id)).toMatchObject({ verifiedAt: expect.any(String) });
  const ledger = readLedger(world.dataDir);
  expect([...ledger.entries()].find(({ type }) => type === 'amended')).toMatchObject({
    basis: 'other',
    authorisation: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(readHistories(ledger.entries()).of(id)?.basis).toBe('other');
  const content = readFileSync(join(world.dataDir, 'ledger', 'entries.jsonl'), 'utf8');
  for (const word of ['TICKET-1', 'art-17', name]) expect(content).not.toContain(word);
});

it('amending one of both leaves the other, on the ledger too', async () => {
  const { world, id } = await worldWithRequest({ by: 'dpo', basis: 'objection' });
  const request = await amend(world, id, { by: 'TICKET-1' });
  expect(request).toMatchObject({ authorisedBy: 'TICKET-1', basis: 'objection' });
  expect(readHistories(readLedger(world.dataDir).entries()).of(id)?.basis).toBe('objection');
});

it('refuses what is no reference, and a request that has ended', async () => {
  const { world, id } = await worldWithRequest({ by: 'dpo', basis: 'objection' });
  await expect(amend(world, id, { by: 'a letter' })).rejects.toMatchObject({ code: 'usage' });
  await expect(amend(world, id, { basis: 'li@wu.cn' })).rejects.toMatchObject({ code: 'usage' });
  await world.cancelAll();
  await expect(amend(world, id, { by: 'dpo' })).rejects.toMatchObject({ code: 'usage' });
});

it('an ended request keeps no words of its own, however short they are', async () => {
  const { world, id } = await worldWithRequest({ by: 'li@wu.cn', basis: 'of li@wu.cn' });
  await world.reconcileToTheEnd();
  expect(findRequest(world.db(), id)).toMatchObject({ state: 'sealed', authorisedBy: null, basis: 'objection' });
  expect(readFileSync(join(world.dataDir, 'mirror.db')).includes('li@wu.cn')).toBe(false);
});

it('a decision that is stated later stands in the certificate, beside what was stated before', async () => {
  const { world, id } = await worldWithRequest({ by: 'dpo', basis: 'objection' });
  await amend(world, id, { decision: { decided_by: 'support', identity: 'logged_in' } });
  await amend(world, id, { decision: { decided_by: 'legal_team', exception: 'legal_claims' } });
  const { decision, basis } = readHistories(readLedger(world.dataDir).entries()).of(id) ?? {};
  expect({ decision, basis }).toEqual({
    decision: { decided_by: 'legal_team', identity: 'logged_in', exception: 'legal_claims' },
    basis: 'objection',
  });
});
