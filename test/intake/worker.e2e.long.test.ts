import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { readLedger } from '../../src/ledger/ledger.ts';
import { valueIn } from '../cli/memory-limit.ts';
import { openWorkspace, unlimited, type Workspace } from '../cli/workspace.ts';
import { callIntake, digestOf, eraseBody } from './intake-world.ts';

/** Each sender of this many has a key of its own. */
const senderCount = 10_000;
const keyOf = (sender: number): string => `${'key-of-a-sender-'.repeat(2)}${sender}`;

let workspace: Workspace;
beforeEach(async () => {
  workspace = await openWorkspace({ persons: 60, recordings: 5 });
  const senders = Array.from({ length: senderCount }, (_, at) => ({
    name: `sender-${at}`,
    keys: [digestOf(keyOf(at))],
    kinds: ['email', 'distinct_id'],
    outcome: at === 1,
  }));
  writeFileSync(join(workspace.folder, 'intake.json'), JSON.stringify({ intake: { port: 0, senders } }), {
    mode: 0o600,
  });
});
afterEach(() => workspace[Symbol.asyncDispose]());

const jobs = ['full', 'recordings', 'playlists', 'head', 'export', 'reconcile', 'checkpoint', 'drill'];

/** Starts a worker that does some jobs again and again, and takes requests. */
async function startWorker(does: readonly string[]) {
  const settings = jobs.map((job) => `schedule.${job}=${does.includes(job) ? '"* * * * * *"' : 'null'}`);
  const worker = workspace.start([
    '--config',
    join(workspace.folder, 'intake.json'),
    'run',
    '--json',
    ...unlimited,
    ...['status.port=0', ...settings].flatMap((each) => ['--set', each]),
  ]);
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  const { intakeUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { intakeUrl: string };
  return { worker, url: intakeUrl };
}

type Timed = { status: number; text: string; ms: number };

/** Posts over connections that are kept, and measures how long each answer takes. */
function poster(url: string, sockets: number): (sender: number, key: string, body: string) => Promise<Timed> {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });
  onTestFinished(() => agent.destroy());
  return (sender, key, body) =>
    new Promise((resolve, reject) => {
      let beganMs = 0;
      const sent = httpRequest(`${url}/v1/requests`, {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${keyOf(sender)}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
      });
      sent.on('socket', () => (beganMs = performance.now()));
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - beganMs }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

/** The resident memory of a process, in MB. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

test('10,000 senders send at once: each is answered within a second, in bounded memory, and received once', async () => {
  const { worker, url } = await startWorker(['checkpoint']);
  const post = poster(url, 100);
  await post(0, randomUUID(), JSON.stringify(eraseBody('first@canary.example')));
  const before = residentMb(worker.child.pid ?? 0);
  const keys = Array.from({ length: senderCount }, () => randomUUID());
  const bodyOf = (sender: number): string => JSON.stringify(eraseBody(`person-${sender}@canary.example`));
  const beganMs = performance.now();
  const answers = await Promise.all(keys.map((key, sender) => post(sender, key, bodyOf(sender))));
  const seconds = (performance.now() - beganMs) / 1000;
  const after = residentMb(worker.child.pid ?? 0);
  const slowestMs = Math.max(...answers.map(({ ms }) => ms));
  const byStatus = Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([s, a]) => [s, a.length]));
  process.stdout.write(`${JSON.stringify({ seconds, slowestMs, before, after, byStatus })}\n`);
  expect(slowestMs).toBeLessThan(1000);
  // Whoever was told to come again comes again.
  for (const [sender, { status }] of answers.entries())
    if (status !== 201) answers[sender] = await post(sender, keys[sender] ?? '', bodyOf(sender));
  const replays = await Promise.all(keys.slice(0, 500).map((key, sender) => post(sender, key, bodyOf(sender))));
  expect(replays.map(({ text }) => text)).toEqual(answers.slice(0, 500).map(({ text }) => text));
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect([...readLedger(workspace.dataDir).histories.all()]).toHaveLength(senderCount + 1);
  const folder = join(workspace.dataDir, 'ledger');
  for (const { text } of [answers[0], answers[5_000], answers.at(-1)].filter((one) => one !== undefined))
    expect(verify({ folder, receipt: text })).toMatchObject({ ok: true });
  expect(after - before).toBeLessThan(300);
}, 600_000);

test('a worker is killed while it answers, again and again: every receipt that was sent is honoured', async () => {
  const promised = new Map<string, { sender: number; text: string }>();
  let sent = 0;
  for (let round = 0; round < 5; round += 1) {
    const { worker, url } = await startWorker(['full', 'reconcile', 'checkpoint']);
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
  expect(promised.size).toBeGreaterThan(200);
  expect(promised.size).toBeLessThan(1_000);
  const { worker, url } = await startWorker(['checkpoint']);
  const post = poster(url, 40);
  const again = [...promised].map(async ([key, { sender, text }]) => {
    const { status, text: replayed } = await post(
      sender,
      key,
      JSON.stringify(eraseBody(`killed-${sender}@canary.example`)),
    );
    expect({ status, replayed }).toEqual({ status: 201, replayed: text });
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

test('neither answers nor their times tell whom the project has, before a reconciliation, while it goes on, or after', async () => {
  const { worker, url } = await startWorker(['full', 'recordings', 'checkpoint']);
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
        const answer = await post(sender, randomUUID(), bodyOf(isKnown ? id : (unknown[at] ?? '')));
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
  const median = (isKnown: boolean): number => {
    const times = asked.filter((each) => each.isKnown === isKnown).map(({ answer }) => answer.ms);
    return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  };
  process.stdout.write(`known ${median(true).toFixed(2)} ms, unknown ${median(false).toFixed(2)} ms\n`);
  expect(Math.abs(median(true) - median(false))).toBeLessThan(0.25 * median(true));
  const told = async (at: string): Promise<Set<string>> => {
    const states = await Promise.all(
      asked.map(async ({ sender, answer }) => {
        const { request } = JSON.parse(answer.text) as { request: string };
        const sent = { method: 'GET', key: keyOf(sender) };
        const { status, body } = await callIntake(at, `/v1/requests/${request}`, sent);
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
  const next = await startWorker(['full', 'reconcile']);
  const sent = { key: keyOf(1), headers: { 'idempotency-key': randomUUID() } };
  const made = await callIntake(next.url, '/v1/requests', { ...sent, body: bodyOf('nobody-has-this') });
  const id = String(made.body['request']);
  const state = (of: string): string | undefined => readLedger(workspace.dataDir).histories.of(of)?.state;
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
  next.worker.child.kill('SIGTERM');
  await next.worker.ended;
}, 600_000);
