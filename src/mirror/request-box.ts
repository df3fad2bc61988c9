import type { Database } from 'better-sqlite3';
import { prepared } from './prepared.ts';

// What a request keeps encrypted until it ends: the identifiers of its subject (its box, a large one in parts), the row in which the
// service listed the person again, and the holders of its distinct ids.

/** The encrypted box of a request; undefined once it is sealed. */
export function readBox(db: Database, id: string): Buffer | undefined {
  return readEncrypted(db, id, 'box');
}

/** Whether a request has a box. */
export function hasBox(db: Database, id: string): boolean {
  const sql = /*sql*/ `SELECT box IS NOT NULL FROM erasure_requests WHERE id = ?`;
  return prepared<[string], number>(db, sql).pluck().get(id) === 1;
}

/** Keeps a part of the identifiers of a request's box, encrypted. Call it in the transaction that changes the box. */
export function addBoxPart(db: Database, requestId: string, part: number, encrypted: Buffer): void {
  const sql = /*sql*/ `INSERT INTO box_parts (request_id, part, encrypted) VALUES (?, ?, ?)`;
  prepared(db, sql).run(requestId, part, encrypted);
}

/** Removes the parts of a request's box. */
export function removeBoxParts(db: Database, requestId: string): void {
  prepared(db, /*sql*/ `DELETE FROM box_parts WHERE request_id = ?`).run(requestId);
}

/** A part of the identifiers of a request's box, encrypted. */
export function readBoxPart(db: Database, requestId: string, part: number): Buffer | undefined {
  const sql = /*sql*/ `SELECT encrypted FROM box_parts WHERE request_id = ? AND part = ?`;
  return prepared<[string, number], Buffer>(db, sql).pluck().get(requestId, part);
}

/** Whether any request has a box. */
export function hasBoxes(db: Database): boolean {
  return db.prepare(/*sql*/ `SELECT EXISTS (SELECT 1 FROM erasure_requests WHERE box IS NOT NULL)`).pluck().get() === 1;
}

/** The identifiers of the row in which the service listed the person again, encrypted; undefined where it did not. */
export function readListedAgain(db: Database, id: string): Buffer | undefined {
  return readEncrypted(db, id, 'listed_again');
}

/** The persons, by uuid, that have a distinct id of a request's subject, with that id, encrypted; undefined where there are none. */
export function readHolders(db: Database, id: string): Buffer | undefined {
  return readEncrypted(db, id, 'holders');
}

/** Notes the persons that have a distinct id of a request's subject, and which, in place of those noted before. */
export function noteHolders(db: Database, id: string, holders: readonly { uuid: string; distinctId: string }[]): void {
  const sql = /*sql*/ `UPDATE erasure_requests
    SET holders = CASE WHEN @ids IS NULL THEN NULL ELSE encrypt_text(id, @ids) END
    WHERE id = @id AND (holders IS NOT NULL OR @ids IS NOT NULL)`;
  const ids = Object.fromEntries(holders.map(({ uuid, distinctId }) => [uuid, distinctId]));
  prepared(db, sql).run({ id, ids: holders.length === 0 ? null : JSON.stringify(ids) });
}

function readEncrypted(db: Database, id: string, column: 'box' | 'listed_again' | 'holders'): Buffer | undefined {
  const sql = /*sql*/ `SELECT ${column} FROM erasure_requests WHERE id = ?`;
  return prepared<[string], Buffer | null>(db, sql).pluck().get(id) ?? undefined;
}
