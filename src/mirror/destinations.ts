import type { Database } from 'better-sqlite3';

/** A place where published files were put. `reachedBy`: how it is reached, as JSON. */
export type KnownDestination = { location: string; reachedBy: string };

/** The places that may hold published files, beside the folder. */
export function listDestinations(db: Database): KnownDestination[] {
  const sql = /*sql*/ `SELECT location, reached_by AS reachedBy FROM destinations ORDER BY location`;
  return db.prepare<[], KnownDestination>(sql).all();
}

/** Notes that published files are about to be put to a place. */
export function noteDestination(db: Database, { location, reachedBy }: KnownDestination, at: string): void {
  db.prepare(/*sql*/ `INSERT INTO destinations (location, reached_by, followed_at) VALUES (?, ?, ?)
    ON CONFLICT (location) DO UPDATE SET reached_by = excluded.reached_by`).run(location, reachedBy, at);
}

/** Notes that a place holds no published files any more. */
export function forgetDestination(db: Database, location: string): void {
  db.prepare(/*sql*/ `DELETE FROM destinations WHERE location = ?`).run(location);
}
