import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { readLedger } from '../../src/ledger/ledger.ts';
import { valueIn } from '../cli/memory-limit.ts';
import { callIntake } from './intake-world.ts';
import { keyOf, openIntakeWorkspace, poster, startWorker, type Timed } from './intake-workspace.ts';

test('neither answers nor their times tell whom the project has, before a reconciliation, while it goes on, or after', async () => {
  const workspace = await openIntakeWorkspace();
  const { worker, url } = await startWorker(workspace, ['full', 'recordings', 'checkpoint']);
  const db = (): unknown => valueIn(workspace.dataDir, 'SELECT count(*) FROM persons');
  await vi.waitFor(() => expect(db()).toBe(60), { timeout: 60_000, interval: 200 });
  const living = [...workspace.sandbox.living()].flatMap(({ distinct_ids: ids }) => ids.slice(0, 1));
  const known = living.filter((id) => /^[\x21-\x7e]{5,}$/.test(id)).slice(0, 20);
  expect(known).toHaveLength(20);
  const unknown = known.map((id) => `${id.slice(0, -1)}~`);
  const bodyOf = (value: string): string =>
    JSON.stringify({ type: 'erase', identifier: { kind: 'distinct_id', value } });
  const post = poster(url, 1);
  const asked: { isKnown: boolean; sender: number; answer: Timed }[] = [];
  for (let round = 0; round < 5; round += 1)
    for (const [at, id] of known.entries())
      for (const isKnown of at % 2 === 0 ? [true, false] : [false, true]) {
        const sender = 2 + Math.floor(asked.length / 40);
        const [key, body] = [randomUUID(), bodyOf(isKnown ? id : (unknown[at] ?? ''))];
        let answer = await post(sender, key, body);
        while (answer.status === 503) answer = await post(sender, key, body);
        asked.push({ isKnown, sender, answer });
      }
  const shapes = asked.map(({ answer: { status, text } }) =>
    JSON.stringify([
      status,
      Object.keys(JSON.parse(text) as object),
      (JSON.parse(text) as { entries: [] }).entries.length,
    ]),
  );
  expect(new Set(shapes).size).toBe(1);
  // Of two calls one after the other, either is the slower one as often.
  const pairs = asked.flatMap(({ isKnown, answer }, at) => {
    const next = asked[at + 1];
    return at % 2 === 0 && next ? [isKnown ? answer.ms - next.answer.ms : next.answer.ms - answer.ms] : [];
  });
  const slower = pairs.filter((ms) => ms > 0).length / pairs.length;
  process.stdout.write(
    `for somebody known the answer was the slower one in ${slower * 100} % of ${pairs.length} pairs\n`,
  );
  expect(Math.abs(slower - 0.5)).toBeLessThan(0.2);
  const told = async (at: string): Promise<Set<string>> => {
    const states = await Promise.all(
      asked.map(async ({ sender, answer }) => {
        const { request } = JSON.parse(answer.text) as { request: string };
        const sent = { method: 'GET', key: keyOf(sender) };
        let { status, body } = await callIntake(at, `/v1/requests/${request}`, sent);
        while (status === 503) ({ status, body } = await callIntake(at, `/v1/requests/${request}`, sent));
        const { request: _id, received_at: _at, due_at: _due, ...rest } = body;
        return JSON.stringify([status, rest]);
      }),
    );
    return new Set(states);
  };
  const same = new Set([JSON.stringify([200, { state: 'received', outcome: null, ended_at: null }])]);
  expect(await told(url)).toEqual(same);
  worker.child.kill('SIGTERM');
  await worker.ended;
  // Requests are carried out now. One sender may learn how its own end.
  const next = await startWorker(workspace, ['full', 'reconcile']);
  const sent = { key: keyOf(1), headers: { 'idempotency-key': randomUUID() } };
  const made = await callIntake(next.url, '/v1/requests', { ...sent, body: bodyOf('nobody-has-this') });
  const id = String(made.body['request']);
  const state = (of: string): string | undefined => readLedger(workspace.dataDir).histories.of(of)?.state;
  // Others come in between the steps of each reconciliation.
  const another = poster(next.url, 4);
  const more: Timed[] = [];
  const keepSending = async (sender: number): Promise<void> => {
    for (let count = 0; count < 40; count += 1)
      more.push(await another(sender, randomUUID(), bodyOf(`in-between-${sender}-${count}`)));
  };
  const sending = Promise.all([100, 101, 102, 103].map(keepSending));
  const own = asked.map(({ answer }) => (JSON.parse(answer.text) as { request: string }).request);
  await vi.waitFor(
    async () => {
      const { body } = await callIntake(next.url, `/v1/requests/${id}`, { method: 'GET', key: keyOf(1) });
      expect(body).toMatchObject({ state: 'closed', outcome: 'nothing_held', ended_at: expect.any(String) as string });
      expect(new Set(own.map(state))).not.toContain('received');
    },
    { timeout: 60_000, interval: 1_000 },
  );
  expect(own.map(state)).toContain('refused');
  expect(new Set(own.map(state)).size).toBeGreaterThan(1);
  expect(await told(next.url)).toEqual(same);
  await sending;
  const received = more.filter(({ status }) => status === 201);
  expect(received.length).toBeGreaterThan(20);
  next.worker.child.kill('SIGTERM');
  await next.worker.ended;
  const ledger = readLedger(workspace.dataDir);
  expect([...ledger.entries()].map(({ type }) => type)).not.toContain('differs');
  for (const { text } of received)
    expect(ledger.histories.of((JSON.parse(text) as { request: string }).request)).toBeDefined();
  const [receipt] = received;
  expect(verify({ folder: join(workspace.dataDir, 'ledger'), receipt: receipt?.text })).toMatchObject({ ok: true });
}, 600_000);
