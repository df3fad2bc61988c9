import { z } from 'zod';
import { scopes } from '../contract/endpoints.ts';
import { isoToMicros } from '../core/time.ts';
import { notFound, Refusal } from './http/answer.ts';
import type { SandboxClock } from './sandbox-clock.ts';
import type { Change } from './store/change-log.ts';
import type { NewPerson } from './store/person-row.ts';
import type { Store } from './store/store.ts';

/** Conditions of the whole service. Each holds until it is changed. */
export type Conditions = {
  /** Every path of the project answers 404. */
  projectVanished: boolean;
  /** Every list answers 200 without a row. */
  listsEmpty: boolean;
  /** Queued deletions of events are run when they are due. */
  batchRuns: boolean;
  /** A deleted person that returns has its former integer id. */
  revivesId: boolean;
};

const micros = z.string().transform((text, context) => {
  const value = isoToMicros(text);
  if (value === undefined) context.addIssue({ code: 'custom', message: 'not an ISO 8601 date-time' });
  return Number(value ?? 0n);
});
const person = z.string();

/** Changes that can be made to the service from outside its API. Persons are named by uuid, times are ISO 8601. */
export const Action = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('create'),
    distinct_ids: z.array(z.string()).min(1).optional(),
    properties: z.record(z.string(), z.unknown()).optional(),
    created_at: micros.optional(),
  }),
  z.strictObject({ do: z.literal('merge'), loser: person, survivor: person }),
  z.strictObject({ do: z.literal('split'), uuid: person }),
  z.strictObject({ do: z.literal('delete'), uuid: person, delete_events: z.boolean().optional() }),
  /** Queues the deletion of a person's events, and keeps the person. */
  z.strictObject({ do: z.literal('delete_events'), uuid: person }),
  /** Brings a deleted person back as later events do: its uuid stays. */
  z.strictObject({ do: z.literal('resurrect'), uuid: person }),
  /** Forgets the recordings that started before a time. */
  z.strictObject({ do: z.literal('expire_recordings'), before: micros }),
  z.strictObject({ do: z.literal('set_scopes'), key: z.string(), scopes: z.array(z.enum(scopes)) }),
  z.strictObject({ do: z.literal('set_project'), vanished: z.boolean() }),
  z.strictObject({ do: z.literal('set_lists'), empty: z.boolean() }),
  /** Whether the weekly batch runs. Batches that were missed run when the clock moves after it is turned on again. */
  z.strictObject({ do: z.literal('set_batch'), runs: z.boolean() }),
]);
export type Action = z.input<typeof Action>;

/** The version after an action, and the uuids of the persons that it created. */
export type ActionResult = { version: number; created: string[] };

type Parsed = z.output<typeof Action>;
/** What an action works with: the store, the service's conditions, and the change that its log will show. */
type Acted = { store: Store; conditions: Conditions; change: Change };

const performers: { [Do in Parsed['do']]: (action: Extract<Parsed, { do: Do }>, acted: Acted) => void } = {
  create: (action, { store, change }) => {
    const created = store.lifecycle.create((id) => newPerson(store, id, change.atMs, action), change);
    refuseUnless(created !== undefined);
  },
  merge: ({ loser, survivor }, { store, change }) =>
    refuseUnless(store.lifecycle.merge(idOf(store, loser), idOf(store, survivor), change)),
  split: ({ uuid }, { store, change }) => void store.persons.split(idOf(store, uuid), change),
  delete: ({ uuid, delete_events: deleteEvents = false }, { store, change }) =>
    void store.persons.delete(idOf(store, uuid), deleteEvents, change),
  delete_events: ({ uuid }, { store, change }) => void store.persons.deleteEvents(idOf(store, uuid), change),
  resurrect: ({ uuid }, { store, change, conditions }) =>
    refuseUnless(store.lifecycle.resurrect(uuid, change, conditions.revivesId) !== undefined),
  expire_recordings: ({ before }, { store }) => store.recordings.expireBefore(before),
  set_scopes: ({ key, scopes: given }, { store }) => {
    if (!store.apiKeys.setScopes(key, given)) throw notFound();
  },
  set_project: ({ vanished }, { conditions }) => void (conditions.projectVanished = vanished),
  set_lists: ({ empty }, { conditions }) => void (conditions.listsEmpty = empty),
  set_batch: ({ runs }, { conditions }) => void (conditions.batchRuns = runs),
};

/** Carries out an action now. Throws a `Refusal`: 404 for an unknown person or key, 400 if it is not possible. */
export function act(
  store: Store,
  { clock, conditions }: { clock: SandboxClock; conditions: Conditions },
  action: Parsed,
): ActionResult {
  const since = store.truth.version();
  const perform = performers[action.do] as (action: Parsed, acted: Acted) => void;
  perform(action, { store, conditions, change: { userId: 1, atMs: clock.now() } });
  return { version: store.truth.version(), created: store.truth.createdSince(since) };
}

function newPerson(
  { lifecycle }: Store,
  id: number,
  atMs: number,
  {
    distinct_ids: distinctIds = [`created_${id}`],
    properties = {},
    created_at: createdAtMicros = atMs * 1000,
  }: Extract<Parsed, { do: 'create' }>,
): NewPerson {
  const email = typeof properties['email'] === 'string' ? properties['email'] : null;
  return {
    id,
    uuid: lifecycle.uuidFor(id),
    name: distinctIds[0] ?? '',
    createdAtMicros,
    distinctIds,
    properties: JSON.stringify(properties),
    email,
  };
}

function idOf({ lifecycle }: Store, uuid: string): number {
  const id = lifecycle.idOf(uuid);
  if (id === undefined) throw notFound();
  return id;
}

function refuseUnless(isDone: boolean): void {
  if (!isDone) throw new Refusal('invalidInput', 'This action is not possible now.', 'do');
}
