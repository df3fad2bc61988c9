import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';
import { pausing } from '../core/pausing.ts';
import { readJson } from '../core/exact-json.ts';
import { keyPath } from '../core/secret-key.ts';
import { datasets, pagedDatasets } from '../contract/datasets.ts';
import type { Identifier, IdentifierKind } from '../contract/identity.ts';
import { prepareFenceFilter } from './fence-mac.ts';
import { seenPassOfNow } from './passes.ts';
import { transact } from './transact.ts';
import { prepared } from './prepared.ts';
import { listQuarantined } from './quarantine.ts';
import { sideTables } from './tables.ts';

/** The name of the key, in the data folder, under which boxes are encrypted. */
export const boxKeyName = 'box.key';

/** The name of the key, in the data folder, of the fence's MACs. */
export const fenceKeyName = 'fence.key';

/** Whether anything is fenced; for one request where asked. */
export function hasFence(db: Database, requestId?: string): boolean {
  const found =
    requestId === undefined
      ? db.prepare(/*sql*/ `SELECT 1 FROM fence LIMIT 1`).get()
      : db.prepare(/*sql*/ `SELECT 1 FROM fence WHERE request_id = ? LIMIT 1`).get(requestId);
  return found !== undefined;
}

/** Throws `storage` where the fence's key is gone: no identifier could be compared, and every person would return. */
export function refuseLostFenceKey(db: Database, dataDir: string): void {
  if (existsSync(keyPath(dataDir, fenceKeyName))) return;
  if (!hasFence(db)) return;
  throw new AppError('the key of the fence is gone: keys/fence.key', {
    code: 'storage',
    hint: 'restore keys/ from the backup that belongs to this mirror.db; without it, erased people would be mirrored again',
  });
}

/** An entry of the fence as the ledger has it: no identifier, only its MAC (hex). */
export type FenceEntry = { kind: IdentifierKind; mac: string };

/** A request whose fence rises, and when: by this machine's clock, and by the service's where that is known (ISO 8601 UTC). */
type Fencing = { id: string; epoch: number; at: string; servedAt?: string | null };

/**
 * Fences identifiers for a request, beside what the request has fenced before. The entries of other requests stay. When the service
 * made a person is kept by its MAC. Call it inside the transaction that raises the epoch, before the rows are removed.
 */
export function fenceIdentifiers(db: Database, request: Fencing, identifiers: Iterable<Identifier>): void {
  const sql = /*sql*/ `INSERT INTO fence (kind, mac, request_id, epoch, fenced_at, served_at, seen_pass, created_mac)
      VALUES (@kind, fence_mac(@kind, @value), @id, @epoch, @at, @servedAt, @seenPass,
        iif(@kind = 'person_uuid', fence_mac('created_at', (SELECT created_at FROM persons WHERE uuid = @value)), NULL))
    ON CONFLICT DO NOTHING`;
  const add = db.prepare(sql);
  const seenPass = seenPassOfNow(db);
  for (const { kind, value } of identifiers) add.run({ servedAt: null, ...request, kind, value, seenPass });
}

/** The entries that stand for a request, so many at a time, in their order. */
export function* standingFence(db: Database, requestId: string): Generator<FenceEntry[]> {
  const sql = /*sql*/ `SELECT kind, lower(hex(mac)) AS mac FROM fence
      WHERE request_id = @requestId AND (kind, mac) > (@kind, unhex(@mac)) ORDER BY kind, mac LIMIT @limit`;
  const page = db.prepare<Record<string, string | number>, FenceEntry>(sql);
  for (let last: FenceEntry | undefined = { kind: '' as IdentifierKind, mac: '' }; last;) {
    const entries: FenceEntry[] = page.all({ requestId, ...last, limit: pageEntries });
    if (entries.length > 0) yield entries;
    last = entries.length < pageEntries ? undefined : entries.at(-1);
  }
}

const pageEntries = 5000;

/**
 * The digest of the entries of each request: SHA-256 of a line of kind and MAC (hex) for each, in byte order of the MACs. The
 * ledger has the same (`collectBoundState`). `encrypt`: what encrypts the MACs, as the ledger has them since it has a restore
 * key. Other work goes on meanwhile.
 */
export async function fenceDigests(db: Database, encrypt = (mac: string): string => mac): Promise<Map<string, string>> {
  const pause = pausing();
  const ids = db.prepare<[], string>(/*sql*/ `SELECT DISTINCT request_id FROM fence`).pluck().all();
  const digests = new Map<string, string>();
  for (const id of ids) {
    const hash = createHash('sha256');
    for (const entries of standingFence(db, id)) {
      hash.update(entries.map(({ kind, mac }) => `${kind} ${encrypt(mac)}\n`).join(''));
      await pause();
    }
    digests.set(id, hash.digest('hex'));
  }
  return digests;
}

/**
 * Adds entries for a request, as the ledger has them. The entries of other requests stay. An older mirror knows fewer persons than
 * the one in which the fence rose: who is unknown to it counts as one who came after. Call it inside the transaction that raises
 * the epoch.
 */
export function addFence(
  db: Database,
  { id, epoch, at, servedAt = null }: Fencing,
  entries: readonly FenceEntry[],
): void {
  const add = db.prepare(/*sql*/ `INSERT INTO fence (kind, mac, request_id, epoch, fenced_at, served_at, seen_pass)
      VALUES (@kind, unhex(@mac), @id, @epoch, @at, @servedAt, @seenPass) ON CONFLICT DO NOTHING`);
  const seenPass = seenPassOfNow(db);
  for (const entry of entries) add.run({ ...entry, id, epoch, at, servedAt, seenPass });
}

/** Removes a request's entries, unless another request has fenced the same persons. Returns how many were removed. */
export function liftFence(db: Database, requestId: string): number {
  return db.prepare(/*sql*/ `DELETE FROM fence WHERE request_id = ?`).run(requestId).changes;
}

/**
 * How the fence of a request has been used since it was raised. `recreated`: the entries of persons whom the service has made again and,
 * as far as its newest whole list or a later page tells, still has.
 */
export type FenceUse = { entries: number; hits: number; recreated: number; lastHitAt: string | null };

/** How the entries of requests have been used. An entry that several of them share counts once. */
export function readFenceUse(db: Database, ...requestIds: readonly string[]): FenceUse {
  const ofRequests = /*sql*/ `SELECT * FROM fence WHERE request_id IN (SELECT value FROM json_each(?))`;
  return prepared(db, useOf(`(${ofRequests})`)).get(JSON.stringify(requestIds)) as FenceUse;
}

/** SQL: how the entries of a table have been used. */
function useOf(table: string): string {
  return /*sql*/ `SELECT count(*) AS entries, coalesce(sum(hits), 0) AS hits, count(*) FILTER (WHERE recreated > 0 AND lastHitAt >= coalesce(
        (SELECT started_at FROM passes WHERE dataset = 'persons' AND mode = 'full' AND verdict = 'complete' ORDER BY id DESC LIMIT 1), ''
      )) AS recreated,
      max(lastHitAt) AS lastHitAt
    FROM (SELECT max(hits) AS hits, max(recreated) AS recreated, max(last_hit_at) AS lastHitAt FROM ${table}
      GROUP BY kind, mac)`;
}

/** The requests that have fenced any of these identifiers. */
export function fencedBy(db: Database, identifiers: readonly Identifier[]): string[] {
  const find = prepareFencedBy(db);
  return [...new Set(identifiers.flatMap(({ kind, value }) => find?.(kind, value) ?? []))];
}

/**
 * The other requests that fence an identifier of this one, other than a recording. They are about the same person, unless both
 * fence uuids and have none in common: then they only share a distinct id.
 */
export function fencedTogether(db: Database, requestId: string): { requestId: string; isSamePerson: boolean }[] {
  const hasUuid = (id: string): string =>
    /*sql*/ `EXISTS (SELECT 1 FROM fence WHERE request_id = ${id} AND kind = 'person_uuid')`;
  const sql = /*sql*/ `SELECT other.request_id AS requestId, max(other.kind = 'person_uuid')
      OR NOT ${hasUuid('other.request_id')} OR NOT ${hasUuid('@requestId')} AS isSamePerson
    FROM fence own JOIN fence other ON other.kind = own.kind AND other.mac = own.mac AND other.request_id <> @requestId
    WHERE own.request_id = @requestId AND own.kind <> 'recording_id' GROUP BY other.request_id ORDER BY other.request_id`;
  const rows = db.prepare<{ requestId: string }, { requestId: string; isSamePerson: 0 | 1 }>(sql).all({ requestId });
  return rows.map((row) => ({ requestId: row.requestId, isSamePerson: row.isSamePerson === 1 }));
}

/** How large the fence is, and how often it kept a row out: what several requests have fenced counts once. */
export function countFence(db: Database): Omit<FenceUse, 'lastHitAt'> {
  const { lastHitAt: _lastHitAt, ...use } = db.prepare(useOf('fence')).get() as FenceUse;
  return use;
}

/** Prepares the question which requests have fenced an identifier. Undefined while the fence is empty. */
export function prepareFencedBy(db: Database): ((kind: IdentifierKind, value: string) => string[]) | undefined {
  if (!hasFence(db)) return undefined;
  const sql = /*sql*/ `SELECT request_id FROM fence WHERE kind = ? AND mac = fence_mac(?, ?)`;
  const find = db.prepare<[string, string, string], string>(sql).pluck();
  return (kind, value) => find.all(kind, kind, value);
}

/** Prepares the question whether an identifier is fenced, for many of which few are. */
export function prepareIsFenced(db: Database): (kind: IdentifierKind, value: string) => boolean {
  const filter = prepareFenceFilter(db);
  filter.refresh();
  const fencedBy = prepareFencedBy(db);
  return (kind, value) => filter.mayHold(kind, value) && (fencedBy?.(kind, value) ?? []).length > 0;
}

/** An identifier in the mirror that the fence should have kept out, and a request that fenced it. */
export type FencedIdentifier = Identifier & { requestId: string };

/**
 * The identifiers of a row that are fenced, once for each request that has fenced them. An integer id alone names nobody where the
 * row shows a uuid: a service may use it again, for another person.
 */
export function prepareFindFenced(db: Database): (identifiers: readonly Identifier[]) => FencedIdentifier[] {
  const fencedBy = prepareFencedBy(db);
  return (identifiers) => {
    const found = identifiers.flatMap(({ kind, value }) =>
      (fencedBy?.(kind, value) ?? []).map((requestId) => ({ kind, value, requestId })),
    );
    const isIdAlone = found.every(({ kind }) => kind === 'person_id');
    return isIdAlone && identifiers.some(({ kind }) => kind === 'person_uuid') ? [] : found;
  };
}

/** Every place in the mirror where identifiers of a kind stand, the expression of its values (SQL), and the key of its rows. */
const places: readonly { kind: IdentifierKind; value: string; table: string; key: readonly string[] }[] = [
  ...pagedDatasets.flatMap((table) =>
    datasets[table].identifiers.map(({ role: kind, name: value }) => ({ kind, value, table, key: ['row_key'] })),
  ),
  ...sideTables.map(({ table, column, kind, key }) => ({ kind, value: column, table, key })),
  { kind: 'distinct_id', value: /*sql*/ `person -> '$.distinct_ids'`, table: 'recordings', key: ['row_key'] },
];

const rowsAtOnce = 5000;

/** The values at a place, some thousand rows at a time. A value that is a list has its texts. */
function* valuesAt(db: Database, { value, table, key }: (typeof places)[number]): Generator<string[]> {
  const keys = key.join(', ');
  const pageWhere = (condition: string) =>
    db
      .prepare<unknown[], [value: string | null, ...key: unknown[]]>(
        /*sql*/ `SELECT CAST(${value} AS TEXT), ${keys} FROM ${table} WHERE ${condition} ORDER BY ${keys} LIMIT ${rowsAtOnce}`,
      )
      .raw();
  const next = pageWhere(`(${keys}) > (${key.map(() => '?').join(', ')})`);
  for (let rows = pageWhere('true').all(); rows.length > 0; rows = next.all(...(rows.at(-1)?.slice(1) ?? []))) {
    const values = rows.flatMap(([text]) => text ?? []);
    yield value.includes('->') ? values.flatMap(textsOf) : values;
  }
}

/** A JSON text's own text, or those in its list. */
function textsOf(json: string): string[] {
  return [readJson(json)].flat().filter((item) => typeof item === 'string');
}

/**
 * Holds every identifier of the mirror against the fence, by MAC. It finds nothing
 * unless an older copy of the file was restored. What several requests have fenced is found for each of them.
 * Reads the whole mirror once for each kind. Other work goes on meanwhile.
 */
export async function findFencedIdentifiers(db: Database, signal?: AbortSignal): Promise<FencedIdentifier[]> {
  const pause = pausing(signal);
  const filter = prepareFenceFilter(db);
  filter.refresh();
  const findFenced = prepareFindFenced(db);
  const found = new Map<string, FencedIdentifier>();
  const mayHold = ({ kind, value }: Identifier): boolean => filter.mayHold(kind, value);
  const compare = (row: readonly Identifier[]): void => {
    for (const each of findFenced(row)) found.set(`${each.kind}\0${each.value}\0${each.requestId}`, each);
  };
  if (filter.isEmpty()) return [];
  for (const place of places)
    for (const values of valuesAt(db, place)) {
      compare(values.map((value) => ({ kind: place.kind, value })).filter(mayHold));
      await pause();
    }
  for (const id of reusedIds(db, found.values()))
    for (const key of found.keys()) if (key.startsWith(id)) found.delete(key);
  for (const { identifiers } of listQuarantined(db)) {
    if (identifiers.some(mayHold)) compare(identifiers);
    await pause();
  }
  return [...found.values()];
}

/** How the found integer ids begin, as keys, of which every person in the mirror has another uuid than those that were found. */
function reusedIds(db: Database, found: Iterable<FencedIdentifier>): string[] {
  const all = [...found];
  const uuids = new Set(all.flatMap(({ kind, value }) => (kind === 'person_uuid' ? value : [])));
  const ids = all.flatMap(({ kind, value }) => (kind === 'person_id' ? value : []));
  const sql = /*sql*/ `SELECT CAST(id AS TEXT) AS id, uuid FROM persons WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;
  const persons =
    ids.length === 0 ? [] : db.prepare<[string], { id: string; uuid: string }>(sql).all(JSON.stringify(ids));
  const fenced = new Set(persons.flatMap(({ id, uuid }) => (uuids.has(uuid) ? id : [])));
  return persons.flatMap(({ id }) => (fenced.has(id) ? [] : `person_id\0${id}\0`));
}

/** How often the fence has grown in this database. An older copy of it has a lower one. */
export function readEpoch(db: Database): number {
  return db.prepare<[], number>(/*sql*/ `SELECT epoch FROM erasure_epoch`).pluck().get() ?? 0;
}

/** Notes the epoch of the fence. Call it in the transaction that made it so. */
export function setEpoch(db: Database, epoch: number): void {
  db.prepare(/*sql*/ `UPDATE erasure_epoch SET epoch = ?`).run(epoch);
}

/** Runs `act` while no other process can write, if the fence's epoch is still `epoch`. Returns whether it was. */
export function whileEpoch(db: Database, epoch: number, act: () => void): boolean {
  return transact(db, () => {
    if (readEpoch(db) !== epoch) return false;
    act();
    return true;
  });
}
