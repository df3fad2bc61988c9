import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { readLedger } from '../../src/ledger/ledger.ts';
import { eraseBody } from './intake-world.ts';
import { openIntakeWorkspace, poster, startWorker } from './intake-workspace.ts';

test('a worker is killed while it answers, again and again: every receipt that was sent is honoured', async () => {
  const workspace = await openIntakeWorkspace();
  const promised = new Map<string, { sender: number; text: string }>();
  let sent = 0;
  for (let round = 0; round < 3; round += 1) {
    const { worker, url } = await startWorker(workspace, ['full', 'reconcile', 'checkpoint']);
    const post = poster(url, 40);
    const key = (at: number): string => `key-of-a-request-${at}`;
    const under = Array.from({ length: 200 }, async () => {
      const at = (sent += 1);
      const { status, text } = await post(at, key(at), JSON.stringify(eraseBody(`killed-${at}@canary.example`)));
      if (status === 201) promised.set(key(at), { sender: at, text });
      // Between two answers, before all are given.
      if (promised.size > 60 * (round + 1)) worker.child.kill('SIGKILL');
    });
    await Promise.allSettled(under);
    worker.child.kill('SIGKILL');
    await worker.ended;
  }
  expect(promised.size).toBeGreaterThan(120);
  expect(promised.size).toBeLessThan(600);
  const { worker, url } = await startWorker(workspace, ['checkpoint']);
  const post = poster(url, 40);
  const again = [...promised].map(async ([key, { sender, text }]) => {
    const body = JSON.stringify(eraseBody(`killed-${sender}@canary.example`));
    let answer = await post(sender, key, body);
    // On a loaded machine the ledger is busy for a moment: the sender asks again.
    while (answer.status === 503) answer = await post(sender, key, body);
    expect(answer).toMatchObject({ status: 201, text });
  });
  await Promise.all(again);
  worker.child.kill('SIGTERM');
  await worker.ended;
  const ledger = readLedger(workspace.dataDir);
  const { histories } = ledger;
  // Mirror and ledger were held against each other by each job.
  expect([...ledger.entries()].map(({ type }) => type)).not.toContain('differs');
  // Nobody is known by these addresses: each was looked for, or is still to be.
  const states = [...promised.values()].map(({ text }) => {
    const { request } = JSON.parse(text) as { request: string };
    return histories.of(request)?.state;
  });
  expect(new Set(states)).toEqual(new Set(['refused', 'received'].filter((state) => states.includes(state as never))));
  const folder = join(workspace.dataDir, 'ledger');
  const texts = [...promised.values()].map(({ text }) => text);
  for (const receipt of [texts[0], texts.at(-1)].filter((one) => one !== undefined))
    expect(verify({ folder, receipt })).toMatchObject({ ok: true });
}, 600_000);
