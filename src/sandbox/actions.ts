import { z } from 'zod';
import { scopes } from '../contract/endpoints.ts';
import { assertNever } from '../core/errors.ts';
import { isoToMicros } from '../core/time.ts';
import { notFound, Refusal } from './http/answer.ts';
import type { SandboxClock } from './sandbox-clock.ts';
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
  /** Brings the uuid back under a new id, as later events do. */
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

/** Carries out an action now. Throws a `Refusal`: 404 for an unknown person or key, 400 if it is not possible. */
export function act(
  store: Store,
  { clock, conditions }: { clock: SandboxClock; conditions: Conditions },
  action: z.output<typeof Action>,
): ActionResult {
  const since = store.truth.version();
  perform(store, { atMs: clock.now(), conditions }, action);
  return { version: store.truth.version(), created: store.truth.createdSince(since) };
}

function perform(
  store: Store,
  { atMs, conditions }: { atMs: number; conditions: Conditions },
  action: z.output<typeof Action>,
): void {
  const { persons, lifecycle } = store;
  const change = { userId: 1, atMs };
  switch (action.do) {
    case 'create':
      refuseUnless(lifecycle.create((id) => newPerson(store, id, atMs, action), change) !== undefined);
      return;
    case 'merge':
      refuseUnless(lifecycle.merge(idOf(store, action.loser), idOf(store, action.survivor), change));
      return;
    case 'split':
      persons.split(idOf(store, action.uuid), change);
      return;
    case 'delete':
      persons.delete(idOf(store, action.uuid), action.delete_events ?? false, change);
      return;
    case 'resurrect':
      refuseUnless(lifecycle.resurrect(action.uuid, change) !== undefined);
      return;
    case 'expire_recordings':
      store.recordings.expireBefore(action.before);
      return;
    case 'set_scopes':
      if (!store.apiKeys.setScopes(action.key, action.scopes)) throw notFound();
      return;
    case 'set_project':
      conditions.projectVanished = action.vanished;
      return;
    case 'set_lists':
      conditions.listsEmpty = action.empty;
      return;
    case 'set_batch':
      conditions.batchRuns = action.runs;
      return;
    default:
      assertNever(action);
  }
}

function newPerson(
  { lifecycle }: Store,
  id: number,
  atMs: number,
  action: Extract<z.output<typeof Action>, { do: 'create' }>,
): NewPerson {
  const {
    distinct_ids: distinctIds = [`created_${id}`],
    properties = {},
    created_at: createdAtMicros = atMs * 1000,
  } = action;
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
