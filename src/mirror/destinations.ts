import type { Database } from 'better-sqlite3';

/** A place where published files were put, by its name. `reachedBy`: how it is reached, as JSON. */
export type KnownDestination = { location: string; reachedBy: string };

/** The places that may hold published files, beside the folder. */
export function listDestinations(db: Database): KnownDestination[] {
  const sql = /*sql*/ `SELECT location, reached_by AS reachedBy FROM destinations ORDER BY location`;
  return db.prepare<[], KnownDestination>(sql).all();
}

/**
 * How a place stands to the folder. `equalAt`: when both were last seen equal, with so many `files`. `behindSince`: since when
 * it may hold something else, null where it follows. `cause`: why; null while a run is under way, or was killed. Times are ISO 8601.
 */
export type DestinationStanding = {
  location: string;
  equalAt: string | null;
  files: number | null;
  behindSince: string | null;
  cause: string | null;
};

/** How each place stands that may hold published files. */
export function readStandings(db: Database): DestinationStanding[] {
  const sql = /*sql*/ `SELECT location, equal_at AS equalAt, files, behind_since AS behindSince, cause
    FROM destinations ORDER BY location`;
  return db.prepare<[], DestinationStanding>(sql).all();
}

/**
 * Notes that published files are about to be put to a place: until they are seen there, it is behind. A place of this name that was
 * reached in another way is from then on known by its `formerName`; one that never answered is forgotten.
 */
export function noteDestination(
  db: Database,
  { location, reachedBy }: KnownDestination,
  formerName: (reachedBy: string) => string,
  at: string,
): void {
  const sql = /*sql*/ `SELECT reached_by AS reachedBy, answered_at AS answeredAt FROM destinations WHERE location = ?`;
  const known = db.prepare<[string], { reachedBy: string; answeredAt: string | null }>(sql).get(location);
  if (known && known.reachedBy !== reachedBy) {
    const rename = db.prepare(/*sql*/ `UPDATE OR REPLACE destinations SET location = ? WHERE location = ?`);
    if (known.answeredAt !== null) rename.run(formerName(known.reachedBy), location);
    forgetDestination(db, location);
  }
  db.prepare(/*sql*/ `INSERT INTO destinations (location, reached_by, followed_at, behind_since)
    VALUES (@location, @reachedBy, @at, @at)
    ON CONFLICT (location) DO UPDATE SET behind_since = coalesce(behind_since, excluded.behind_since)`).run({
    location,
    reachedBy,
    at,
  });
}

/** Whether a place has ever answered. */
export function hasAnswered(db: Database, location: string): boolean {
  const sql = /*sql*/ `SELECT 1 FROM destinations WHERE location = ? AND answered_at IS NOT NULL`;
  return db.prepare(sql).get(location) !== undefined;
}

/** Notes that a place answers: from now on, files may be there. */
export function noteAnswered(db: Database, location: string, at: string): void {
  db.prepare(/*sql*/ `UPDATE destinations SET answered_at = ? WHERE location = ?`).run(at, location);
}

/** Notes that a place was seen to be equal to the folder, file by file. */
export function noteEqual(db: Database, location: string, files: number, at: string): void {
  db.prepare(/*sql*/ `UPDATE destinations SET equal_at = ?, files = ?, behind_since = NULL, cause = NULL
    WHERE location = ?`).run(at, files, location);
}

/** Notes why a place is behind. */
export function noteBehind(db: Database, location: string, cause: string, at: string): void {
  db.prepare(/*sql*/ `UPDATE destinations SET behind_since = coalesce(behind_since, ?), cause = ?
    WHERE location = ?`).run(at, cause, location);
}

/** What is known of the objects of a place, by path, version and tag: `noteObjects` wrote it. */
export function readObjects(db: Database, location: string): Map<string, string> {
  const sql = /*sql*/ `SELECT object, facts FROM seen_objects WHERE location = ?`;
  return new Map(db.prepare<[string], [string, string]>(sql).raw().all(location));
}

/** Notes what is known of the objects of a place, in place of what was. */
export function noteObjects(db: Database, location: string, objects: ReadonlyMap<string, string>): void {
  db.prepare(/*sql*/ `DELETE FROM seen_objects WHERE location = ?`).run(location);
  const insert = db.prepare(/*sql*/ `INSERT INTO seen_objects (location, object, facts) VALUES (?, ?, ?)`);
  for (const [object, facts] of objects) insert.run(location, object, facts);
}

/** Notes that a place holds no published files any more. */
export function forgetDestination(db: Database, location: string): void {
  for (const table of ['destinations', 'seen_objects'])
    db.prepare(/*sql*/ `DELETE FROM ${table} WHERE location = ?`).run(location);
}
