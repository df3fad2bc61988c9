import type { Database } from 'better-sqlite3';
import { textListOf } from '../contract/tolerant-reader.ts';
import type { FirstPass } from './first-pass.ts';
import { prepareFindOwner } from './tables.ts';

/** A person as a page shows it: its surrogate key, its distinct ids, and the pass. */
type Shown = { rowKey: number; distinctIds: readonly string[]; passId: number };

/** Another person whose list was changed. */
type OtherPerson = { rowKey: number; uuid: string };

/** Decides which person holds a distinct id. Call it inside a transaction. */
export type DistinctIdOwners = {
  /** The distinct ids of a known person without those that stay with another person although this one still shows them. */
  settle: (shown: Shown) => readonly string[];
  /**
   * Gives a person its settled distinct ids. A person that held one before (a merge, a split) loses it, in its own list too.
   * An id that this person no longer shows returns to the person that lost it and still shows it. Returns those other
   * persons, each once. `isShown` tells whether the pass has shown a person already.
   */
  own: (shown: Shown, options: { isNew: boolean; isShown: (rowKey: number) => boolean; at: string }) => OtherPerson[];
  /** Notes that the pass has shown persons: those that no longer show an id have lost it for good. */
  noteShown: (rowKeys: readonly number[], passId: number) => void;
};

/**
 * Prepares what keeps the look-up from distinct id to person true. The person shown last holds the distinct id. If one pass
 * shows it with two persons, both would take it from each other at every pass. So the person that loses a distinct id after
 * the same pass has shown it there does not take it back by only showing it again.
 */
export function prepareOwnDistinctIds(db: Database, firstPass?: FirstPass): DistinctIdOwners {
  const owners = prepareOwners(db, firstPass);
  return {
    settle: (shown) => settle(owners, shown),
    own: (shown, options) => own(owners, shown, options),
    noteShown: (rowKeys, passId) => {
      if (owners.hasDisputes.get() !== undefined) owners.endDisputes.run(passId, JSON.stringify(rowKeys));
    },
  };
}

/** The statements about owners, and what answers for the index that is absent in a first pass. */
type Owners = ReturnType<typeof prepareOwners>;

function prepareOwners(db: Database, firstPass: FirstPass | undefined) {
  return {
    firstPass,
    ownerOf: firstPass?.ownerOf ?? prepareFindOwner(db),
    owned: db
      .prepare<[number], string>(/*sql*/ `SELECT distinct_id FROM distinct_id_owners WHERE person_row_key = ?`)
      .pluck(),
    insert: db.prepare<[number, string]>(
      /*sql*/ `INSERT INTO distinct_id_owners (person_row_key, distinct_id) VALUES (?, ?)`,
    ),
    release: db.prepare<[number, string]>(
      /*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = ? AND distinct_id = ?`,
    ),
    list: db.prepare<[number], { uuid: string; distinct_ids: string | null }>(
      /*sql*/ `SELECT uuid, distinct_ids FROM persons WHERE row_key = ?`,
    ),
    relist: db.prepare<[string, string, number]>(
      /*sql*/ `UPDATE persons SET distinct_ids = ?, changed_at = ? WHERE row_key = ?`,
    ),
    noteLost: db.prepare<
      [number, string, number | null]
    >(/*sql*/ `INSERT INTO distinct_ids_lost (person_row_key, distinct_id, shown_pass) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET shown_pass = excluded.shown_pass`),
    regain: db.prepare<[number, string]>(
      /*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = ? AND distinct_id = ?`,
    ),
    lostAndShown: db
      .prepare<[number], string>(
        /*sql*/ `SELECT distinct_id FROM distinct_ids_lost WHERE person_row_key = ? AND shown_pass IS NOT NULL`,
      )
      .pluck(),
    isSuspect: db.prepare<[number]>(/*sql*/ `SELECT 1 FROM suspects WHERE dataset = 'persons' AND row_key = ?`),
    showDisputed: db.prepare<[number, number, string]>(
      /*sql*/ `UPDATE distinct_ids_lost SET shown_pass = ? WHERE person_row_key = ? AND distinct_id = ?`,
    ),
    stillShownBy: db
      .prepare<
        [string],
        number
      >(/*sql*/ `SELECT person_row_key FROM distinct_ids_lost WHERE distinct_id = ? AND shown_pass IS NOT NULL
          ORDER BY shown_pass DESC LIMIT 1`)
      .pluck(),
    hasDisputes: db.prepare(/*sql*/ `SELECT 1 FROM distinct_ids_lost WHERE shown_pass IS NOT NULL LIMIT 1`),
    endDisputes: db.prepare<
      [number, string]
    >(/*sql*/ `UPDATE distinct_ids_lost INDEXED BY distinct_ids_disputed SET shown_pass = NULL
        WHERE shown_pass < ? AND person_row_key IN (SELECT value FROM json_each(?))`),
  };
}

function settle(owners: Owners, { rowKey, distinctIds, passId }: Shown): readonly string[] {
  const shown = new Set(distinctIds);
  const others = new Set(
    owners.lostAndShown.all(rowKey).filter((distinctId) => shown.has(distinctId) && isDisputed(owners, distinctId)),
  );
  for (const distinctId of others) owners.showDisputed.run(passId, rowKey, distinctId);
  return others.size === 0 ? distinctIds : distinctIds.filter((distinctId) => !others.has(distinctId));
}

function isDisputed({ ownerOf, isSuspect }: Owners, distinctId: string): boolean {
  const owner = ownerOf(distinctId);
  return owner !== undefined && isSuspect.get(owner) === undefined;
}

/** Distinct ids that have moved, by the surrogate key of the other person. */
type Moved = Map<number, Set<string>>;

function own(
  owners: Owners,
  { rowKey, distinctIds, passId }: Shown,
  { isNew, isShown, at }: Parameters<DistinctIdOwners['own']>[1],
): OtherPerson[] {
  const wanted = new Set(distinctIds);
  const returned: Moved = isNew ? new Map() : giveBack(owners, rowKey, wanted);
  const lost: Moved = new Map();
  for (const distinctId of wanted) {
    if (!isNew) owners.regain.run(rowKey, distinctId);
    const owner = owners.ownerOf(distinctId);
    if (owner === rowKey) continue;
    if (owner !== undefined) owners.release.run(owner, distinctId);
    add(owners, rowKey, distinctId);
    if (owner === undefined) continue;
    owners.noteLost.run(owner, distinctId, isShown(owner) ? passId : null);
    noteMoved(lost, owner, distinctId);
  }
  return relistOthers(owners, lost, returned, at);
}

/** Releases what a person no longer shows, and takes what it holds already out of `wanted`. Returns what others have back. */
function giveBack(owners: Owners, rowKey: number, wanted: Set<string>): Moved {
  const returned: Moved = new Map();
  for (const distinctId of owners.owned.all(rowKey)) {
    if (wanted.delete(distinctId)) continue;
    owners.release.run(rowKey, distinctId);
    const other = owners.stillShownBy.get(distinctId);
    if (other === undefined) continue;
    add(owners, other, distinctId);
    owners.regain.run(other, distinctId);
    noteMoved(returned, other, distinctId);
  }
  return returned;
}

/** Writes the lists of others. Once for each of them: a merge may move thousands, and each time the whole list is written. */
function relistOthers({ list, relist }: Owners, lost: Moved, returned: Moved, at: string): OtherPerson[] {
  const others: OtherPerson[] = [];
  for (const other of new Set([...lost.keys(), ...returned.keys()])) {
    const person = list.get(other);
    if (!person) continue;
    const kept = (textListOf(person.distinct_ids) ?? []).filter((held) => lost.get(other)?.has(held) !== true);
    relist.run(JSON.stringify([...kept, ...(returned.get(other) ?? [])]), at, other);
    others.push({ rowKey: other, uuid: person.uuid });
  }
  return others;
}

function add({ insert, firstPass }: Owners, rowKey: number, distinctId: string): void {
  insert.run(rowKey, distinctId);
  firstPass?.noteOwner(distinctId, rowKey);
}

function noteMoved(moved: Moved, other: number, distinctId: string): void {
  moved.set(other, (moved.get(other) ?? new Set()).add(distinctId));
}
