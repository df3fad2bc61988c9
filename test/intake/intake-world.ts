import { createHash, randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import type { Sender } from '../../src/config/sender.ts';
import type { Clock } from '../../src/core/clock.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import { startReceiver } from '../../src/intake/receiver.ts';
import type { Listening } from '../../src/core/listening.ts';
import { startIntakeServer } from '../../src/intake/server.ts';
import type { JobContext } from '../../src/job/job-context.ts';
import { openDatabase, type Database } from '../../src/mirror/database.ts';
import { jobContext } from '../job/job-context.ts';
import { freshFolder, putEmptyMirror } from '../mirror/open-test-mirror.ts';

export const deskKey = 'k'.repeat(43);
export const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');

/** A sender as the settings have it. */
export const senderOf = (more: Partial<Sender> = {}): Sender => ({
  name: 'privacy-desk',
  keys: [digestOf(deskKey)],
  kinds: ['email', 'distinct_id'],
  perHour: 10_000,
  outcome: false,
  project: null,
  callback: null,
  agent: null,
  ...more,
});

type Answered = { status: number; body: Record<string, unknown>; text: string; headers: Headers };
/** What a call sends beside its path. */
type Sent = { key?: string; method?: string; body?: string | object; headers?: Record<string, string> };

/** Sends a call to a server, as a desk would. */
export async function callIntake(url: string, path: string, sent: Sent = {}): Promise<Answered> {
  const { key = deskKey, method = 'POST', body, headers = {} } = sent;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: JSON.parse(text) as Record<string, unknown>,
    text,
    headers: response.headers,
  };
}

/** The keys of those senders that are agents, by their ids. */
export const tokensOf = (senders: readonly Sender[]): Map<string, string> =>
  new Map(senders.flatMap(({ agent }) => (agent ? [[agent.id, `${agent.id}-${'t'.repeat(40)}`] as const] : [])));

/** The body of a request for the erasure of an address. */
export const eraseBody = (value: string, more: object = {}): object => ({
  type: 'erase',
  identifier: { kind: 'email', value },
  ...more,
});

/** An intake over a real mirror and ledger in a folder of its own. */
export type IntakeWorld = {
  dataDir: string;
  db: () => Database;
  clock: Clock & { nowMs: number };
  context: (signal?: AbortSignal) => JobContext;
  post: (body: object | string, idempotencyKey?: string, sent?: Sent) => Promise<Answered>;
  get: (id: string, sent?: Sent) => Promise<Answered>;
  url: () => string;
  /** Ends the listener, opens the mirror anew, and begins to listen again. `between`: while all is closed. */
  restart: (between?: () => void) => Promise<void>;
  /** Ends the listener; a kill has left the mirror as it is. */
  stop: () => Promise<void>;
};

/** Runs one step as a command does. */
export async function step(world: IntakeWorld, act: (job: JobContext) => unknown): Promise<void> {
  await runEraseJob(world.context(), (job) => {
    act(job);
    return Promise.resolve({ outcome: 'done', counts: {} });
  });
}

/** Opens one. The clock goes on by itself, from the beginning of 2026. */
export async function openIntakeWorld(senders: readonly Sender[] = [senderOf()]): Promise<IntakeWorld> {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  const settings = settingsWith({ dataDir });
  const clock = {
    nowMs: Date.UTC(2026, 0, 1),
    now: () => (clock.nowMs += 1),
    sleep: async (ms: number, signal?: AbortSignal) => {
      await new Promise((resolve) => setImmediate(resolve));
      clock.nowMs += ms;
      signal?.throwIfAborted();
    },
  };
  let db = openDatabase(dataDir, clock);
  const context = (signal = new AbortController().signal): JobContext =>
    jobContext({ db, settings, clock }, { signal });
  let server: Listening | undefined;
  let close: () => Promise<void> = () => Promise.resolve();
  const start = async (): Promise<void> => {
    const receiver = startReceiver(context, clock);
    const listening = await startIntakeServer({
      host: '127.0.0.1',
      port: 0,
      senders,
      businessId: 'SHOP',
      tokens: tokensOf(senders),
      nowMs: () => clock.nowMs,
      ask: (_project, asked) => receiver.ask(asked),
      onError: (error) => {
        throw error;
      },
    });
    server = listening;
    close = async () => {
      await listening.close();
      await receiver.close();
    };
  };
  await start();
  const world: IntakeWorld = {
    dataDir,
    db: () => db,
    clock,
    context,
    url: () => server?.url ?? '',
    post: (body, idempotencyKey = randomUUID(), sent = {}) =>
      callIntake(world.url(), '/v1/requests', {
        ...sent,
        body,
        headers: { 'idempotency-key': idempotencyKey, ...sent.headers },
      }),
    get: (id, sent) => callIntake(world.url(), `/v1/requests/${id}`, { method: 'GET', ...sent }),
    stop: () => close(),
    restart: async (between) => {
      await close();
      db.close();
      between?.();
      db = openDatabase(dataDir, clock);
      await start();
    },
  };
  onTestFinished(async () => {
    await close();
    db.close();
  });
  return world;
}
