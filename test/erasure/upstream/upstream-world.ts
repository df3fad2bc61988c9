import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createBudget } from '../../../src/client/budget.ts';
import { createService, type Service } from '../../../src/client/service.ts';
import {
  openTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../../../src/client/transport.ts';
import { nobody } from '../../../src/contract/identity.ts';
import { isoTime, type Clock } from '../../../src/core/clock.ts';
import { catchUp } from '../../../src/erasure/projection.ts';
import { advanceUpstream, type UpstreamReport } from '../../../src/erasure/reconcile.ts';
import { newBox, type Subject } from '../../../src/erasure/request/box.ts';
import { newRunMemory, type RunMemory, type UpstreamContext } from '../../../src/erasure/upstream/context.ts';
import { recordOrder } from '../../../docs/verifier/verify.mjs';
import type { LedgerEntry } from '../../../src/ledger/entry.ts';
import { collectHistories } from '../../../src/ledger/histories.ts';
import { LedgerRecord } from '../../../src/ledger/record.ts';
import { updateRequest } from '../../../src/mirror/erasure-requests.ts';
import { listTargets, type ErasureTarget } from '../../../src/mirror/erasure-targets.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import type { LivingPerson } from '../../../src/sandbox/store/truth.ts';
import { Killed } from '../../kill/kill-switch.ts';
import { openTestMirror } from '../../mirror/open-test-mirror.ts';

/** What stands between the program and the service: may answer instead, fail before sending, or after. */
export type Interceptor = (
  request: TransportRequest,
  send: () => Promise<TransportResponse>,
) => Promise<TransportResponse>;

/** A Wednesday. */
const start = '2025-06-04T12:00:00.000Z';
const dueAt = '2025-07-04T12:00:00.000Z';
/** The first Sunday after it, 05:00 UTC, and a day. */
export const expectedBy = '2025-06-09T05:00:00.000Z';

const limits = { totalTimeoutMs: 5000, bodyBytesMax: 10_000_000 };
const retry = { attemptsMax: 3, totalMs: 600_000, delayBaseMs: 10, delayMaxMs: 1000, retryAfterMaxMs: 60_000 };

type BulkBody = { ids: string[]; delete_events?: boolean; delete_recordings?: boolean };
type Recorded = { id: string; distinct_id: string; person: { uuid?: string } | null };
export type UpstreamWorld = Awaited<ReturnType<typeof openUpstreamWorld>>;
type WorldOptions = NonNullable<Parameters<typeof openUpstreamWorld>[0]>;
type Fields = { deleteEvents?: boolean; memberships?: Subject['memberships']; dueAt?: string };

/**
 * The upstream lane beside a sandbox, with a mirror of its own and a ledger in memory; all on one clock. `aheadMs`: how far the
 * program's clock is ahead of the service's.
 */
export async function openUpstreamWorld(
  options: Partial<SandboxOptions> & {
    key?: 'readOnly' | 'unknown';
    deleteRecordings?: 'auto' | 'never';
    aheadMs?: number;
  } = {},
) {
  let nowMs = Date.parse(start);
  const { aheadMs = 0 } = options;
  const clock: Clock = {
    now: () => nowMs + aheadMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
  const sandbox: Sandbox = await startSandbox({
    persons: 60,
    recordings: 30,
    seed: 7,
    port: 0,
    hostile: true,
    clock: { ...clock, now: () => nowMs },
    ...options,
    // What a queue does, its own tests show.
    live: { bulkDeletion: 'sync', ...options.live },
  });
  onTestFinished(() => sandbox.close());
  const idsAtStart = new Map([...sandbox.living()].map(({ uuid, id }) => [uuid, id]));
  const { db } = openTestMirror();
  const ledger = ledgerInMemory(clock);
  const asked: string[] = [];
  const bulkBodies: BulkBody[] = [];
  const deletions: string[] = [];
  const hooks: { intercept: Interceptor } = { intercept: (_request, send) => send() };
  const keys = { readOnly: sandbox.readOnlyKey, unknown: 'phx_unknown', all: sandbox.apiKey };

  const newService = (): Service => {
    const inner = openTransport(sandbox.url, keys[options.key ?? 'all'], 4, {
      ...limits,
      // A busy machine answers a thousand deletions late; nobody waits where the service holds its answers.
      ...(options.faultHoldMs === undefined ? {} : { totalTimeoutMs: 1000 }),
    });
    onTestFinished(() => inner.close());
    const transport: Transport = {
      close: () => inner.close(),
      send: (request) => {
        asked.push(`${request.method} ${request.path.replace(/^\/api\/environments\/1/, '')}`);
        if (request.path.includes('persons/bulk_delete')) {
          const body = JSON.parse(request.body ?? '') as BulkBody;
          const { ids, delete_events: events } = body;
          if (ids.length > 0) bulkBodies.push(body);
          for (const uuid of ids)
            deletions.push(`DELETE /persons/${idsAtStart.get(uuid) ?? uuid}/${events ? '?delete_events=true' : ''}`);
        } else if (request.method !== 'GET' && !request.path.includes('batch_by')) deletions.push(asked.at(-1) ?? '');
        return hooks.intercept(request, () => inner.send(request));
      },
    };
    return createService({
      transport,
      budget: createBudget({ concurrency: 4, windows: [], recordings: { windows: [] } }, clock),
      clock,
      random: () => 0.5,
      retryLimits: retry,
      jsonDepthMax: 200,
      jsonValuesMax: 1_000_000,
      projectPath: `/api/environments/${sandbox.projectId}`,
    });
  };
  let service = newService();
  const people = (): LivingPerson[] => [...sandbox.living()].toSorted((a, b) => a.id - b.id);
  const settings = {
    budget: { windows: [], learnUpTo: null, concurrency: 4, recordings: { windows: [] } },
    deletions: { maxShare: 1, maxCount: 1000, confirmations: 2, confirmAfterSeconds: 300, collectHours: 0 },
    retry,
    service: { totalTimeoutMs: 180_000 },
    erasure: { deleteRecordings: options.deleteRecordings ?? 'never', maxRequestDays: 60 },
    playlists: { shortIds: [] as string[] },
    recordings: { query: {} },
  };

  const advance = (
    subjects: readonly Subject[],
    signal = new AbortController().signal,
    turn?: Partial<RunMemory & Pick<UpstreamContext, 'part'>>,
  ): Promise<UpstreamReport> => {
    service.forgetTime?.();
    const alone = { ...newRunMemory(), part: { signal, onStep: () => undefined }, ...turn };
    return advanceUpstream({ db, ledger: () => ledger, clock, service, settings, signal, ...alone }, subjects);
  };
  const moveTo = (iso: string): void => {
    nowMs = Date.parse(iso);
    sandbox.clock.moveTo(sandbox.clock.now());
  };
  const advanceAfter = (seconds: number, subjects: readonly Subject[]): Promise<UpstreamReport> => {
    nowMs += seconds * 1000;
    return advance(subjects);
  };

  /** A request for the people given, with its targets. */
  const request = (
    subjects: readonly LivingPerson[],
    { deleteEvents = true, memberships = [], ...fields }: Fields = {},
  ) => {
    const id = randomUUID();
    ledger.fence(id, { deleteEvents, dueAt: fields.dueAt ?? dueAt });
    catchUp(db, ledger);
    updateRequest(db, id, { box: Buffer.of() });
    return {
      id,
      generation: 1,
      origin: 'manual' as const,
      ...newBox([], nobody),
      identity: {
        person_uuid: subjects.map(({ uuid }) => uuid),
        person_id: options.profile === 'live' ? [] : subjects.map((person) => String(person.id)),
        distinct_id: subjects.flatMap(({ distinct_ids: ids }) => ids),
        recording_id: [] as string[],
      },
      createdAt:
        subjects
          .map(({ created_at: createdAt }) => createdAt)
          .toSorted()
          .at(-1) ?? null,
      deleteEvents,
      memberships,
    } satisfies Subject;
  };

  return {
    db,
    sandbox,
    ledger,
    asked,
    /** The bodies of bulk deletions; those of the probe, which hold nobody, are left out. */
    bulkBodies,
    settings,
    clock,
    intercept: (interceptor: Interceptor): void => {
      hooks.intercept = interceptor;
    },
    /** From now on, the requests that are meant get this answer, and the service none of them. */
    answerTo: (isMeant: (request: TransportRequest) => boolean, response: TransportResponse): void => {
      hooks.intercept = (request, send) => (isMeant(request) ? Promise.resolve(response) : send());
    },
    /** The service answers as it is again. */
    heal: (): void => {
      hooks.intercept = (_request, send) => send();
    },
    /** A process that knows nothing of the one before. */
    restart: (): void => {
      service = newService();
    },
    request,
    /** A request for each of the first so many persons. */
    everybody: (count: number, fields?: Fields) =>
      people()
        .slice(0, count)
        .map((person) => request([person], fields)),
    advance,
    advanceAfter,
    /** Until a person is confirmed to be gone: once more after the time between two answers. */
    advanceTwice: async (subjects: readonly Subject[]): Promise<UpstreamReport> => {
      await advance(subjects);
      return advanceAfter(300, subjects);
    },
    advanceAt: (iso: string, subjects: readonly Subject[]): Promise<UpstreamReport> => {
      moveTo(iso);
      return advance(subjects);
    },
    /** Moves the time of both, and lets the service's batch run. */
    moveTo,
    pass: (seconds: number): void => {
      nowMs += seconds * 1000;
    },
    target: (subject: Subject, name: string): ErasureTarget => {
      const found = listTargets(db, subject.id).find(({ target }) => target === `upstream.${name}`);
      if (!found) throw new Error(`no target ${name}`);
      return found;
    },
    /** Advances so many times, and lets so many seconds pass after each. */
    advanceTimes: async (times: number, seconds: number, subjects: readonly Subject[]): Promise<void> => {
      for (let run = 0; run < times; run += 1) {
        await advance(subjects);
        nowMs += seconds * 1000;
      }
    },
    /** The recordings at the service. */
    recorded: (): Recorded[] =>
      sandbox.store.recordings
        .page({ limit: 1000, offset: 0 })
        .documents.map((document) => JSON.parse(document) as Recorded),
    /** Person number `index` of those who live. */
    person: (index: number): LivingPerson => {
      const found = people()[index];
      if (!found) throw new Error('so many persons do not live');
      return found;
    },
    people,
    /** Calls that change something, as they were sent; a bulk deletion as a call for each of its persons. */
    changes: (): string[] => [...deletions],
    /** Those that delete one person each. */
    singly: (): string[] => asked.filter((line) => line.startsWith('DELETE /persons/')),
    forget: (): void => {
      asked.length = 0;
      deletions.length = 0;
    },
  };
}

/** A world with a request for its first person, or for the one with an index. */
export async function openAsked({
  index = 0,
  fields,
  ...options
}: WorldOptions & { index?: number; fields?: Fields } = {}) {
  const world = await openUpstreamWorld(options);
  const person = world.person(index);
  return { world, person, subject: world.request([person], fields) };
}

/** A openUpstreamWorld's ledger: every record is checked, its order too, and one may be refused as by a full disk. */
function ledgerInMemory(clock: Clock) {
  const records: LedgerRecord[] = [];
  const entries: LedgerEntry[] = [];
  const histories = collectHistories();
  const order = recordOrder();
  let epoch = 0;
  const take = (record: LedgerRecord, at = isoTime(clock.now())): void => {
    const finding = order(record);
    if (finding !== undefined) throw new Error(`${record.type} in the ledger: ${finding}`);
    const entry = { ...record, seq: entries.length, at };
    entries.push(entry);
    histories.take(entry);
  };
  let refuses: (record: LedgerRecord) => boolean = () => false;
  return {
    histories,
    requestEntries: () => entries.length,
    rootOfFirst: (size: number) => `of ${size}`,
    entries: () => entries,
    append: (all: Iterable<LedgerRecord>, at?: string): void => {
      const added = [...all];
      if (added.some((record) => refuses(record))) throw new Killed();
      for (const record of added) take(LedgerRecord.parse(record), at);
      records.push(...added);
    },
    /** What comes before the first of a request's records world. */
    fence: (request: string, more: { deleteEvents: boolean; dueAt: string }): void => {
      const hex = '0'.repeat(64);
      const about = { request, generation: 1 };
      const { deleteEvents, dueAt: due } = more;
      const subject = { subject: hex, authorisation: hex, delete_events: deleteEvents, due_at: due } as const;
      take({ type: 'received', ...about, origin: 'manual', basis: 'objection', ...subject });
      take({ type: 'scoped', ...about, persons: 1, distinct_ids: 1, recordings: 0, quarantined: 0, files: 0 });
      epoch += 1;
      take({ type: 'fencing', ...about, epoch, fence: [{ kind: 'person_uuid', encrypted: hex }] });
      take({ type: 'fenced', ...about, epoch });
    },
    refuse: (which: (record: LedgerRecord) => boolean): void => {
      refuses = which;
    },
    /** What was written of a target, in short: `intent`, `result deleted`, `attention outcome_unknown`. */
    of: (target: string): string[] =>
      records.flatMap((record) => {
        if (!('target' in record) || record.target !== `upstream.${target}`) return [];
        if (record.type === 'result') return [`result ${record.result}`];
        return [record.type === 'attention' ? `attention ${record.reason}` : record.type];
      }),
    records,
  };
}

/** Whether a request deletes persons: the probe of bulk deletion names nobody. */
export function isDeletion({ method, path, body }: TransportRequest): boolean {
  return method === 'DELETE' || (path.includes('bulk_delete') && body !== '{"ids":[]}');
}

const notFound = '{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}';

/** An answer of the service that no sandbox gives; a 404 in the service's own words, unless told otherwise. */
export function answer(
  status: number,
  text = status === 404 ? notFound : '',
  contentType = 'application/json',
): TransportResponse {
  return { status, contentType, retryAfter: undefined, date: undefined, bytes: Buffer.from(text) };
}
