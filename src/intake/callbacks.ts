import { createHmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { replaceFile } from '../core/atomic-file.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import type { JobContext } from '../job/job-context.ts';
import { callbacksPath, readAllTold, type Told } from '../job/told-senders.ts';
import { endedOf } from '../mirror/ended-requests.ts';
import { findRequest, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { isUnproved } from '../ledger/request-history.ts';
import { currentIds } from '../snapshot/manifest.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import type { Found } from './receiver.ts';
import { statusOf } from './status-of.ts';

/** Who is called back, under which address, and the secret that its calls are signed with. */
export type CalledBack = { name: string; outcome: boolean; url: string; secret: Buffer };

/** A call, and the request that it is about; null for a publication. Its id is the same each time that it is sent. */
export type Message = { id: string; about: string | null; body: string };

type News = Pick<Told, 'open' | 'published'>;

/** Looks whether a sender has to be told of something, and tells it. */
export type Callbacks = {
  /** Notes that a sender's request was received: it may end before the next look. Rejects where that cannot be kept. */
  note: (sender: string, request: string) => Promise<void>;
  /** Tells what is new. What a receiver does not accept is sent again at the next look, after all others. */
  look: () => Promise<void>;
};

type CallbackParts = {
  clock: Pick<Clock, 'now'>;
  context: () => Pick<JobContext, 'db' | 'published' | 'settings'>;
  senders: readonly CalledBack[];
  /** Sends a call; rejects where it was not accepted. */
  send: (to: CalledBack, message: Message, headers: Record<string, string>) => Promise<void>;
  onError: (error: unknown) => void;
};

/** After a call that failed, the next one waits so long, and twice as long each time. */
const pauseMs = { first: 5_000, most: 600_000 };

/** After so many calls that failed in one look, its other calls wait for the next look. */
const failuresMax = 3;

/** Calls senders of one project back. What they were told, and have to be told, is kept in a file: a restart forgets nothing of it. */
export function createCallbacks({ context, clock, senders, send, onError }: CallbackParts): Callbacks {
  const noted = new Map<string, Set<string>>(senders.map(({ name }) => [name, new Set()]));
  const keepNoted = (name: string): Told => {
    const own = noted.get(name) ?? new Set();
    const add = (told: Told): Partial<Told> => ({ noted: [...new Set([...told.noted, ...own])] });
    const kept = changeTold(context().settings.dataDir, name, add);
    own.clear();
    return kept;
  };
  /** What was received together is one write to the disk. */
  let keeping: Promise<void> | undefined;
  const keepAll = (): void => {
    keeping = undefined;
    for (const [name, own] of noted) if (own.size > 0) keepNoted(name);
  };
  const failed = new Map<string, ReadonlySet<string | null>>();
  /** Sends calls, last those that failed at the last look. Returns the error of each request that its sender was not told of. */
  const sendAll = async (to: CalledBack, messages: readonly Message[]): Promise<Map<string | null, unknown>> => {
    const before = failed.get(to.name) ?? new Set();
    const placeOf = ({ about }: Message): number => Number(before.has(about));
    const ordered = messages.toSorted((one, other) => placeOf(one) - placeOf(other));
    const refused = new Map<string | null, unknown>();
    const untold = new Set<string | null>();
    for (const message of ordered) {
      const { about } = message;
      if (refused.size >= failuresMax || refused.has(about)) untold.add(about);
      else
        await send(to, message, signatureOf(to.secret, message, clock.now())).catch((error: unknown) =>
          refused.set(about, error),
        );
    }
    failed.set(to.name, new Set([...refused.keys(), ...[...before].filter((about) => untold.has(about))]));
    for (const about of untold) if (!refused.has(about)) refused.set(about, refused.values().next().value);
    return refused;
  };
  const lookFor = async (to: CalledBack): Promise<void> => {
    const { db, published, settings } = context();
    const before = keepNoted(to.name);
    const current = published.readCurrent();
    const snapshots = publishedDatasets.flatMap((dataset) =>
      currentIds(current, dataset).map((id) => ({ dataset, snapshot_id: id })),
    );
    // Only what was noted is the sender's: an operator may give its name as the word of a request.
    const ended = endedOf(db, before.open, to.outcome ? null : isoTime(clock.now()));
    const requests = [...new Set([...before.noted, ...before.open.filter((id) => ended.has(id))])].flatMap((id) => {
      const request = findRequest(db, id);
      return request ? Object.assign(request, { isUnproved: isUnproved(request, listTargets(db, id)) }) : [];
    });
    const { messages, told } = planCalls(to, before, { requests, snapshots, nowMs: clock.now() });
    const refused = await sendAll(to, messages);
    const accepted = new Set(requests.flatMap(({ id }) => (refused.has(id) ? [] : [id])));
    changeTold(settings.dataDir, to.name, (now) => ({
      ...withoutRefused(told, before, refused),
      noted: now.noted.filter((id) => !accepted.has(id)),
      refusedSince: refused.size === 0 ? null : earlierOf(now.refusedSince, isoTime(clock.now())),
    }));
    if (refused.size > 0) throw refused.values().next().value;
  };
  const pauses = new Map<string, { untilMs: number; ms: number }>();
  const pause = (name: string, nowMs: number): void => {
    const ms = Math.min(2 * (pauses.get(name)?.ms ?? pauseMs.first / 2), pauseMs.most);
    pauses.set(name, { untilMs: nowMs + ms, ms });
  };
  /** One that takes long to accept its calls holds up nobody else. */
  const called = new Set<string>();
  const callUp = async (to: CalledBack): Promise<void> => {
    const nowMs = clock.now();
    const waitMs = (pauses.get(to.name)?.untilMs ?? 0) - nowMs;
    // A pause that is longer than any was set before the clock was put back.
    if (called.has(to.name) || (waitMs > 0 && waitMs <= pauseMs.most)) return;
    called.add(to.name);
    try {
      await lookFor(to);
      pauses.delete(to.name);
    } catch (error) {
      pause(to.name, nowMs);
      onError(error);
    }
    called.delete(to.name);
  };
  return {
    note: async (sender, request) => {
      if (noted.get(sender)?.add(request)) await (keeping ??= setImmediate().then(keepAll));
    },
    look: async () => void (await Promise.all(senders.map(callUp))),
  };
}

/** The earlier of two times: the clock can have been ahead at the first. */
function earlierOf(before: string | null, now: string): string {
  return before !== null && before < now ? before : now;
}

/** Changes what is kept of a sender, as it is now: others are noted while calls go on. */
function changeTold(dataDir: string, name: string, change: (told: Told) => Partial<Told>): Told {
  const path = callbacksPath(dataDir);
  const all = readAllTold(dataDir);
  const key = sha256(name);
  const before = all[key] ?? { open: [], published: null, noted: [], refusedSince: null };
  const after = { ...before, ...change(before) };
  if (JSON.stringify(after) !== JSON.stringify(before)) replaceFile(path, JSON.stringify({ ...all, [key]: after }));
  return after;
}

/** What a sender has been told where it did not accept all: of a request that it refused, what it had been told before. */
function withoutRefused(told: News, before: News, refused: ReadonlyMap<string | null, unknown>): News {
  const stillOpen = before.open.filter((id) => refused.has(id) && !told.open.includes(id));
  const open = told.open.filter((id) => !refused.has(id) || before.open.includes(id));
  return { open: [...open, ...stillOpen], published: refused.has(null) ? before.published : told.published };
}

/** What there is to tell of. */
type Facts = {
  requests: readonly (ErasureRequest & Pick<Found, 'isUnproved'>)[];
  snapshots: readonly { dataset: string; snapshot_id: string }[];
  nowMs: number;
};

/** The calls for a sender, and what it has been told after them. Who was never told of a publication is not told of an earlier one. */
export function planCalls(
  to: Pick<CalledBack, 'name' | 'outcome'>,
  before: News,
  { requests, snapshots, nowMs }: Facts,
): { messages: Message[]; told: News } {
  const messages: Message[] = [];
  const tell = (type: string, what: string, about: string | null, data: object): void => {
    const body = JSON.stringify({ type, timestamp: isoTime(nowMs), data });
    messages.push({ id: `msg_${sha256(JSON.stringify([to.name, type, what])).slice(0, 32)}`, about, body });
  };
  const open: string[] = [];
  for (const request of requests) {
    const { id, sealedAt, refusedAt, cancelledAt, ...rest } = request;
    const found = { ...rest, request: id, endedAt: sealedAt ?? refusedAt ?? cancelledAt };
    const status = statusOf(found, to.outcome, nowMs);
    const received = { ...status, state: 'received', outcome: null, ended_at: null };
    if (!before.open.includes(id)) tell('request.received', id, id, received);
    if (status.state === 'closed') tell('request.closed', id, id, status);
    else open.push(id);
  }
  const published = sha256(JSON.stringify(snapshots));
  // After an erasure other datasets are published than after a request about nobody: that tells whether somebody exists.
  if (to.outcome && before.published !== null && before.published !== published)
    tell('snapshots.published', published, null, { snapshots });
  // Those that have not ended; and one that an older mirror does not have is there again after the next job.
  const looked = new Set(requests.map(({ id }) => id));
  const others = before.open.filter((id) => !looked.has(id));
  return { messages, told: { open: [...open, ...others], published } };
}

/** The headers of a call, by which its receiver knows the sender (Standard Webhooks, `v1`). */
export function signatureOf(secret: Buffer, { id, body }: Message, nowMs: number): Record<string, string> {
  const seconds = Math.floor(nowMs / 1000);
  const signature = createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
