import { AppError } from '../core/errors.ts';
import { isJsonObject } from '../core/exact-json.ts';
import { emailKey, emailOf } from '../contract/email.ts';
import { askableDistinctIds } from '../contract/identity.ts';
import { personBatchMax } from '../contract/optional-endpoints.ts';
import { readIdentityOfPerson } from '../contract/row-readers.ts';
import { readEnvelope, textListOf } from '../contract/tolerant-reader.ts';
import { askForFewer, listNewest } from './control.ts';
import { bodyOrMissing, rowsOfOneMax, type Service } from './service.ts';
import { personParams } from '../contract/endpoints.ts';

/** From so many persons on, a batch with its controls costs fewer requests than a question for each. */
export const batchFrom = 5;

/** The controls of each request, at the most and at the least: one before all that is asked for, one after, the others between. */
const controlsMax = 8;
const controlsMin = 2;

/** How many persons one request asks for beside its controls. */
export const personsEach = personBatchMax - controlsMax;

/**
 * What the service has told of many persons, by what was asked for: the row, or null where no person has it. It has told
 * nothing of the others: these are to be asked for one by one.
 */
export type Told = ReadonlyMap<string, unknown>;

/** Asks for many persons at once. Both leave out what is not proved, and ask nothing where a service has no batches. */
export type PersonBatches = {
  /** By uuids in lower case. */
  byUuids(uuids: readonly string[]): Promise<Told>;
  byDistinctIds(distinctIds: readonly string[]): Promise<Told>;
};

type BatchName = keyof typeof bodyField;

/** A person that the list has just shown. */
type Control = { uuid: string; distinctId: string };

/** Whether a service has batches: asked once, by calls that name nobody. */
const known = new WeakMap<Service, boolean>();

/**
 * Asks in batches for as long as their answers prove something. An answer proves that persons are absent only if it also shows
 * some persons that the list has just shown, who stand before, between and after the others in the same request: then it was
 * neither cut, nor thinned out, nor empty for all, nor another page. An answer with a row that was not asked for proves nothing.
 * One that shows many persons may be cut at some number of rows: the others are asked for again by themselves. After an answer
 * without proof, fresh controls are taken once. After the second, or a call that failed, no batch is asked for any more.
 */
export function personBatches(service: Service, signal: AbortSignal): PersonBatches {
  let isOver = false;
  let listed: Control[] | undefined;
  const askOnce = async (name: BatchName, keys: readonly string[]): Promise<Told | undefined> => {
    listed ??= await listControls(service, signal);
    const askedFor = new Set(keys);
    const controls = listed.filter((control) => !askedFor.has(keyOf(name, control))).slice(0, controlsMax);
    if (controls.length < controlsMin) return undefined;
    const asked = spread(
      keys,
      controls.map((control) => keyOf(name, control)),
    );
    const { body } = await service.call(name, { body: { [bodyField[name]]: asked }, priority: 'deletion', signal });
    const rows = readBatch(name, body, new Set(asked));
    const isShown = (control: Control): boolean => uuidOf(rows?.get(keyOf(name, control))) === control.uuid;
    return rows && controls.every(isShown) ? rows : undefined;
  };
  const ask = async (name: BatchName, keys: readonly string[]): Promise<Told> => {
    const told = new Map<string, unknown>();
    const all = [...new Set(keys)];
    isOver ||= all.length > 0 && !(await hasBatches(service, signal));
    for (let start = 0; start < all.length; start += personsEach) {
      let left = all.slice(start, start + personsEach);
      while (left.length > 0 && !isOver) {
        let rows = await unlessFailed(askOnce(name, left));
        if (rows === undefined) {
          listed = undefined;
          rows = await unlessFailed(askOnce(name, left));
        }
        if (rows) left = take(rows, left, told);
        else isOver = true;
      }
    }
    return told;
  };
  return {
    byUuids: (uuids) => ask('persons.batch_by_uuids', uuids),
    byDistinctIds: (distinctIds) => ask('persons.batch_by_distinct_ids', distinctIds),
  };
}

/** An answer that shows more of those asked for may be cut: no service serves so few rows at the most. */
const shownMax = 5;

/** Takes what an answer with its controls tells of those asked for. Returns those whom it has told nothing of. */
function take(rows: Told, keys: readonly string[], told: Map<string, unknown>): string[] {
  const absent = keys.filter((key) => !rows.has(key));
  for (const key of keys) if (rows.has(key)) told.set(key, rows.get(key));
  if (keys.length - absent.length > shownMax) return absent;
  for (const key of absent) told.set(key, null);
  return [];
}

/** The keys with the controls among them: one before all, one after, the others between. */
function spread(keys: readonly string[], controls: readonly string[]): string[] {
  const step = Math.ceil(keys.length / (controls.length - 1));
  return controls.flatMap((control, index) => [control, ...keys.slice(index * step, (index + 1) * step)]);
}

const bodyField = { 'persons.batch_by_uuids': 'uuids', 'persons.batch_by_distinct_ids': 'distinct_ids' } as const;

function keyOf(name: BatchName, { uuid, distinctId }: Control): string {
  return name === 'persons.batch_by_uuids' ? uuid : distinctId;
}

/** What a call resolves to; null where it failed. Rejects where no other call can do better. */
async function unlessFailed<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    return null;
  }
}

/** Whether the service has answered a batch otherwise than by its rows. Then each person is asked for by itself. */
function isAnswer(error: unknown): error is AppError {
  return error instanceof AppError && ['service', 'rejected', 'oversize', 'refused'].includes(error.code);
}

async function hasBatches(service: Service, signal: AbortSignal): Promise<boolean> {
  const before = known.get(service);
  if (before !== undefined) return before;
  try {
    for (const name of Object.keys(bodyField) as BatchName[])
      await service.call(name, { body: { [bodyField[name]]: [] }, priority: 'deletion', signal });
    known.set(service, true);
    return true;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    // After any other status the service is asked again the next time.
    if ([400, 403, 404, 405].includes(error.status ?? 0)) known.set(service, false);
    return false;
  }
}

/** How many persons of the list are taken, so that some are not among those asked for. */
const listedMax = 100;

async function listControls(service: Service, signal: AbortSignal): Promise<Control[]> {
  const rows = await listNewest(service, 'persons', { most: listedMax, signal });
  const listed = rows.flatMap((row): [string, Control][] => {
    const uuid = uuidOf(row);
    const [distinctId] = askableDistinctIds(distinctIdsIn(row), 1);
    return uuid === undefined || distinctId === undefined ? [] : [[uuid, { uuid, distinctId }]];
  });
  return [...new Map(listed).values()];
}

/** The rows of an answer by what was asked for. Undefined for another answer, and for one with a row not asked for. */
function readBatch(name: BatchName, body: unknown, asked: ReadonlySet<string>): Map<string, unknown> | undefined {
  const results = isJsonObject(body) ? body['results'] : undefined;
  if (!Array.isArray(results) && !isJsonObject(results)) return undefined;
  const isByUuid = name === 'persons.batch_by_uuids';
  const entries = Array.isArray(results)
    ? results.flatMap((row) => keysIn(isByUuid, row, asked).map((key): [string, unknown] => [key, row]))
    : Object.entries(results);
  const rows = new Map<string, unknown>();
  for (const [shown, row] of entries) {
    if (row === null) continue;
    const key = isByUuid ? shown.toLowerCase() : shown;
    const uuid = uuidOf(row);
    if (!asked.has(key) || uuid === undefined || (isByUuid && uuid !== key)) return undefined;
    rows.set(key, row);
  }
  return rows;
}

/** What a row of a list may have been asked for; one text that nobody asked for where it is another's. */
function keysIn(isByUuid: boolean, row: unknown, asked: ReadonlySet<string>): string[] {
  const nobodys = '\0';
  if (isByUuid) return [uuidOf(row) ?? nobodys];
  const keys = distinctIdsIn(row).filter((distinctId) => asked.has(distinctId));
  return keys.length > 0 ? keys : [nobodys];
}

function distinctIdsIn(row: unknown): readonly string[] {
  const person = readIdentityOfPerson(row);
  return person.ok ? (textListOf(person.columns['distinct_ids']) ?? []) : [];
}

function uuidOf(row: unknown): string | undefined {
  const uuid = isJsonObject(row) ? row['uuid'] : undefined;
  return typeof uuid === 'string' ? uuid.toLowerCase() : undefined;
}

/** Every server takes addresses with shorter ones. There, a 414 or a 431 is no answer. */
const longFrom = 1_000;
/** What servers answer to a too long address. Some (Node, Go, Envoy) count it among the headers: 431. */
const tooLong: readonly unknown[] = [414, 431];

/**
 * The rows that a list shows for one distinct id; none for one that is too long for an address: no list can be asked for it.
 * Otherwise rejects as the call does.
 */
export async function askForDistinctId(
  service: Service,
  distinctId: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  try {
    const query = { distinct_id: distinctId };
    const { body } = await service.call('persons.list', { query, priority: 'deletion', signal });
    return readEnvelope(body, rowsOfOneMax).results;
  } catch (error) {
    if (error instanceof AppError && tooLong.includes(error.status) && distinctId.length >= longFrom) return [];
    throw error;
  }
}

/** A list that moves while it is paged is begun again so many times. */
const listTriesMax = 3;

/** How many rows a page of a list has where nobody says how many. */
const pageRows = 100;

/**
 * Every row that the service lists for an address. Each page begins with the last row of the one before: else the list has moved. A page
 * with a row without the address ends it: that service was not asked. Pages are of fewer rows where one is too long for an answer.
 * Rejects as the calls do, and with `service` for a list that never stands still.
 */
export async function askForEmail(service: Service, email: string, signal: AbortSignal): Promise<readonly unknown[]> {
  let most = pageRows;
  const pageAt = (offset: number): Promise<{ results: readonly unknown[]; isLast: boolean }> =>
    askForFewer(
      async (limit) => {
        most = limit;
        const query = { email, ...(offset > 0 && { offset }), ...(limit < pageRows && { limit }) };
        const { body } = await service.call('persons.list', { query, priority: 'deletion', signal });
        const { results, next, has_next: hasNext } = readEnvelope(body, rowsOfOneMax - offset);
        return { results, isLast: typeof next !== 'string' && hasNext !== true };
      },
      { most, least: 2 },
    );
  const isOf = (row: unknown): boolean => emailOf(row) === emailKey(email);
  for (let tries = 0; tries < listTriesMax; tries += 1) {
    let page = await pageAt(0);
    const rows = [...page.results];
    let isMoved = !page.isLast && rows.length === 0;
    while (!page.isLast && rows.length > 0 && rows.every(isOf) && !isMoved) {
      page = await pageAt(rows.length - 1);
      isMoved = page.results.length < (page.isLast ? 1 : 2) || uuidOf(page.results[0]) !== uuidOf(rows.at(-1));
      rows.push(...page.results.slice(1));
    }
    if (!isMoved) return rows;
  }
  throw new AppError('the list of the persons with one e-mail address changes while it is read', {
    code: 'service',
    hint: 'reconcile again, or name the persons by uuid',
  });
}

/**
 * The person who has a distinct id in the service's database; undefined for none, and where a service has no batches. Its lists, which
 * are of a search, can hide for months who has come back after a deletion. Rejects as the call does, and with `service` where the answer
 * tells nothing.
 */
export async function askDatabase(service: Service, distinctId: string, signal: AbortSignal): Promise<unknown> {
  const name = 'persons.batch_by_distinct_ids';
  // A firewall may let no such call pass.
  const hasOne = await hasBatches(service, signal).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'unreachable') return false;
    throw error;
  });
  if (!hasOne) return undefined;
  const asked = { body: { [bodyField[name]]: [distinctId] }, priority: 'deletion', signal } as const;
  const rows = readBatch(name, (await service.call(name, asked)).body, new Set([distinctId]));
  if (!rows) throw unusable();
  const uuid = uuidOf(rows.get(distinctId));
  if (uuid === undefined) return undefined;
  // A batch cuts the list of distinct ids.
  const whole = service.call('persons.retrieve', { params: personParams(uuid), priority: 'deletion', signal });
  return await bodyOrMissing(whole).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'rejected' ? unusable() : error;
  });
}

function unusable(): AppError {
  return new AppError('the service was asked who has a distinct id, and its answer says nothing of it', {
    code: 'service',
    hint: 'a proxy may change its answers; check service.baseUrl and service.pathPrefix',
  });
}
