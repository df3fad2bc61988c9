import type { Database } from 'better-sqlite3';
import type { Identity } from '../contract/identity.ts';
import { isJsonObject, readJson } from '../core/exact-json.ts';
import { pausing } from '../core/pausing.ts';
import { newestNumber } from './feeds.ts';
import { transact } from './transact.ts';

/** What a property can look like. */
export type Look = 'address' | 'phone' | 'card';

/**
 * A property that persons have shown. `types`: of its values: null, boolean, integer, real, text, array, object. `fill`: in which share of the rows that were looked
 * at it was. `looksLike`: what at least half of its values look like, or its name says; null for nothing.
 */
export type KnownProperty = {
  name: string;
  types: string[];
  fill: number;
  firstSeenAt: string;
  looksLike: Look | null;
};

/** A longer name is none that somebody has chosen; and a catalogue of more is none that somebody reads. */
const nameMax = 200;
const propertiesMax = 10_000;

/** The looks, the most telling first. */
const allLooks = ['card', 'phone', 'address'] as const satisfies readonly Look[];

/** So many changes are looked at in one transaction: others write between them. */
const changesAtOnce = 5_000;

/** Whether a value looks like something, by plain rules. */
const looks: Readonly<Record<Look, (value: unknown) => boolean>> = {
  address: (value) => typeof value === 'string' && /^[^\s/@]+@[^\s/@]+\.[^\s/@]+$/.test(value),
  phone: (value) => typeof value === 'string' && /^\+\d[\d ()./-]{7,23}$/.test(value),
  card: (value) =>
    (typeof value === 'string' || typeof value === 'number') &&
    /^[2-6][\d -]{12,22}$/.test(String(value)) &&
    hasCheckDigit(String(value)),
};

/** Words in a name, between other characters, that tell of an address of a house. */
const addressWords = /(?:^|[^a-z])(?:street|address|postal_?code|post_?code|zip_?code|zip)(?:$|[^a-z])/i;

/** What was counted of a property. */
type Counted = { types: Set<string>; rows: number } & Record<Look, number>;

/** Where nothing depends on it that the catalogue is whole, so many of the newest changes are looked at. */
const newestMax = 20_000;

/**
 * Brings the catalogue of properties up to the newest change: looks at the persons that are new or changed since it was last done, at
 * `all` or at the `newest` of them. What was left out is looked at once all are meant. `at` (ISO 8601 UTC): the time at which what was
 * not known is seen first. A row that changes is looked at again. Throws the signal's reason.
 */
export async function catalogueProperties(
  db: Database,
  { at, meant, signal }: { at: string; meant: 'all' | 'newest'; signal: AbortSignal },
): Promise<void> {
  const pause = pausing(signal);
  const until = newestNumber(db);
  transact(db, () => begin(db, meant, until));
  while (transact(db, () => lookOn(db, at, until))) await pause();
}

/** Begins to look where it was left, anew where all are meant and changes were left out, or at the newest changes. */
function begin(db: Database, meant: 'all' | 'newest', until: number): void {
  if (meant === 'all') {
    const forgotten = db.prepare(/*sql*/ `DELETE FROM properties_seen WHERE has_gaps`).run();
    if (forgotten.changes > 0) db.exec(/*sql*/ `DELETE FROM properties`);
  }
  db.exec(/*sql*/ `INSERT OR IGNORE INTO properties_seen (only_row, seq, rows, has_gaps) VALUES (1, 0, 0, 0)`);
  if (meant === 'newest')
    db.prepare(/*sql*/ `UPDATE properties_seen SET seq = @from, has_gaps = 1 WHERE seq < @from`).run({
      from: until - newestMax,
    });
}

/** Looks at some changes; false once there are no more. */
function lookOn(db: Database, at: string, until: number): boolean {
  const from = db.prepare<[], number>(/*sql*/ `SELECT seq FROM properties_seen`).pluck().get() ?? 0;
  if (from >= until) {
    db.prepare(/*sql*/ `UPDATE properties_seen SET began_at = ? WHERE began_at IS NULL`).run(at);
    return false;
  }
  const next = /*sql*/ `SELECT max(seq) FROM (SELECT seq FROM changes WHERE seq > ? ORDER BY seq LIMIT ${changesAtOnce})`;
  const to = db.prepare<[number], number | null>(next).pluck().get(from) ?? until;
  const shown = db
    .prepare<[number, number], string | null>(/*sql*/ `SELECT properties FROM persons
      WHERE uuid IN (SELECT key FROM changes WHERE dataset = 'persons' AND seq > ? AND seq <= ?)`)
    .pluck()
    .iterate(from, to);
  const counts = new Map<string, Counted>();
  let rows = 0;
  for (const text of shown) {
    countIn(counts, text);
    rows += 1;
  }
  const known = db.prepare<[string], string>(/*sql*/ `SELECT types FROM properties WHERE name = ?`).pluck();
  const note = db.prepare<
    Record<Look, number> & { name: string; types: string; rows: number; at: string }
  >(/*sql*/ `INSERT INTO properties
    VALUES (@name, @types, @at, @rows, @address, @phone, @card)
    ON CONFLICT DO UPDATE SET types = excluded.types, rows = rows + excluded.rows, addresses = addresses + excluded.addresses,
      phones = phones + excluded.phones, cards = cards + excluded.cards`);
  let room = propertiesMax - (db.prepare<[], number>(/*sql*/ `SELECT count(*) FROM properties`).pluck().get() ?? 0);
  for (const [name, counted] of counts) {
    const before = known.get(name);
    if (before === undefined && (room -= 1) < 0) continue;
    const types = new Set([...counted.types, ...typesIn(before ?? '[]')]);
    note.run({ ...counted, name, types: JSON.stringify([...types].toSorted()), at });
  }
  db.prepare(/*sql*/ `UPDATE properties_seen SET seq = ?, rows = rows + ?`).run(to, rows);
  return true;
}

/** Counts the properties in a text. One that holds no object has none. */
function countIn(counts: Map<string, Counted>, text: string | null): void {
  const properties = text === null ? undefined : readJson(text);
  if (!isJsonObject(properties)) return;
  for (const [key, value] of Object.entries(properties)) {
    const name = key.toWellFormed();
    // A name with an e-mail address in it is about one person.
    if (name.length > nameMax || name.includes('@')) continue;
    const counted = counts.get(name) ?? { types: new Set(), rows: 0, address: 0, phone: 0, card: 0 };
    counts.set(name, counted);
    counted.rows += 1;
    counted.types.add(typeOf(value));
    for (const look of allLooks) if (looks[look](value)) counted[look] += 1;
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'real';
  return typeof value === 'string' ? 'text' : typeof value;
}

function typesIn(json: string): string[] {
  return JSON.parse(json) as string[];
}

/** Whether the digits of a text end as those of a payment card do (Luhn). */
function hasCheckDigit(text: string): boolean {
  const digits = [...text.replaceAll(/\D/g, '')].toReversed().map(Number);
  const sum = digits.reduce(
    (all, digit, at) => all + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2),
    0,
  );
  return digits.length >= 13 && digits.length <= 19 && sum % 10 === 0;
}

/** The properties that are known, the newest first. */
export function listProperties(db: Database): KnownProperty[] {
  const looked = db.prepare<[], number>(/*sql*/ `SELECT rows FROM properties_seen`).pluck().get() ?? 0;
  const rows = db
    .prepare<
      [],
      { name: string; types: string; at: string; rows: number } & Record<Look, number>
    >(/*sql*/ `SELECT name, types, first_seen_at AS at, rows, addresses AS address, phones AS phone, cards AS card FROM properties
        ORDER BY first_seen_at DESC, name`)
    .all();
  return rows.map(({ name, types, at, rows: held, ...counts }) => {
    const like = allLooks.find((look) => counts[look] * 2 >= held);
    const looksLike = like ?? (addressWords.test(name) ? 'address' : null);
    return { name, types: typesIn(types), fill: looked === 0 ? 0 : held / looked, firstSeenAt: at, looksLike };
  });
}

/** How many properties were seen first since a time (ISO 8601 UTC), after the catalogue was whole once, but for the decided ones. */
export function countNewProperties(db: Database, since: string, decided: readonly string[]): number {
  const sql = /*sql*/ `SELECT count(*) FROM properties WHERE first_seen_at > (SELECT began_at FROM properties_seen)
    AND first_seen_at >= ? AND name NOT IN (SELECT value FROM json_each(?))`;
  return db.prepare<[string, string], number>(sql).pluck().get(since, JSON.stringify(decided)) ?? 0;
}

/** Prepares what removes the names that hold an identifier of an erased person. A short one is a part of other words. */
export function prepareForgetNames(db: Database): (identity: Identity) => void {
  const forget = db.prepare<[string]>(/*sql*/ `DELETE FROM properties WHERE EXISTS
    (SELECT 1 FROM json_each(?) WHERE value = name OR (length(value) >= 6 AND instr(lower(name), lower(value)) > 0))`);
  return ({ person_uuid: uuids, distinct_id: distinctIds }) =>
    void forget.run(JSON.stringify([...uuids, ...distinctIds]));
}
