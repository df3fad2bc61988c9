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
  const owned = db
    .prepare<[number], string>(/*sql*/ `SELECT distinct_id FROM distinct_id_owners WHERE person_row_key = ?`)
    .pluck();
  const insert = db.prepare<[number, string]>(
    /*sql*/ `INSERT INTO distinct_id_owners (person_row_key, distinct_id) VALUES (?, ?)`,
  );
  const add = (rowKey: number, distinctId: string): void => {
    insert.run(rowKey, distinctId);
    firstPass?.noteOwner(distinctId, rowKey);
  };
  const release = db.prepare<[number, string]>(
    /*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = ? AND distinct_id = ?`,
  );
  const ownerOf = firstPass?.ownerOf ?? prepareFindOwner(db);
  const list = db.prepare<[number], { uuid: string; distinct_ids: string | null }>(
    /*sql*/ `SELECT uuid, distinct_ids FROM persons WHERE row_key = ?`,
  );
  const relist = db.prepare<[string, string, number]>(
    /*sql*/ `UPDATE persons SET distinct_ids = ?, changed_at = ? WHERE row_key = ?`,
  );
  const noteLost = db.prepare<
    [number, string, number | null]
  >(/*sql*/ `INSERT INTO distinct_ids_lost (person_row_key, distinct_id, shown_pass) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET shown_pass = excluded.shown_pass`);
  const regain = db.prepare<[number, string]>(
    /*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = ? AND distinct_id = ?`,
  );
  const lostAndShown = db
    .prepare<[number], string>(
      /*sql*/ `SELECT distinct_id FROM distinct_ids_lost WHERE person_row_key = ? AND shown_pass IS NOT NULL`,
    )
    .pluck();
  const isSuspect = db.prepare<[number]>(/*sql*/ `SELECT 1 FROM suspects WHERE dataset = 'persons' AND row_key = ?`);
  const isDisputed = (distinctId: string): boolean => {
    const owner = ownerOf(distinctId);
    return owner !== undefined && isSuspect.get(owner) === undefined;
  };
  const showDisputed = db.prepare<[number, number, string]>(
    /*sql*/ `UPDATE distinct_ids_lost SET shown_pass = ? WHERE person_row_key = ? AND distinct_id = ?`,
  );
  const stillShownBy = db
    .prepare<
      [string],
      number
    >(/*sql*/ `SELECT person_row_key FROM distinct_ids_lost WHERE distinct_id = ? AND shown_pass IS NOT NULL
        ORDER BY shown_pass DESC LIMIT 1`)
    .pluck();
  const hasDisputes = db.prepare(/*sql*/ `SELECT 1 FROM distinct_ids_lost WHERE shown_pass IS NOT NULL LIMIT 1`);
  const endDisputes = db.prepare<
    [number, string]
  >(/*sql*/ `UPDATE distinct_ids_lost INDEXED BY distinct_ids_disputed SET shown_pass = NULL
      WHERE shown_pass < ? AND person_row_key IN (SELECT value FROM json_each(?))`);
  return {
    settle: ({ rowKey, distinctIds, passId }) => {
      const shown = new Set(distinctIds);
      const others = new Set(
        lostAndShown.all(rowKey).filter((distinctId) => shown.has(distinctId) && isDisputed(distinctId)),
      );
      for (const distinctId of others) showDisputed.run(passId, rowKey, distinctId);
      return others.size === 0 ? distinctIds : distinctIds.filter((distinctId) => !others.has(distinctId));
    },
    own: ({ rowKey, distinctIds, passId }, { isNew, isShown, at }) => {
      const lost = new Map<number, Set<string>>();
      const returned = new Map<number, Set<string>>();
      const note = (moved: typeof lost, other: number, distinctId: string): void =>
        void moved.set(other, (moved.get(other) ?? new Set()).add(distinctId));
      const wanted = new Set(distinctIds);
      if (!isNew) {
        for (const distinctId of owned.all(rowKey)) {
          if (wanted.delete(distinctId)) continue;
          release.run(rowKey, distinctId);
          const other = stillShownBy.get(distinctId);
          if (other === undefined) continue;
          add(other, distinctId);
          regain.run(other, distinctId);
          note(returned, other, distinctId);
        }
      }
      for (const distinctId of wanted) {
        if (!isNew) regain.run(rowKey, distinctId);
        const owner = ownerOf(distinctId);
        if (owner === rowKey) continue;
        if (owner !== undefined) release.run(owner, distinctId);
        add(rowKey, distinctId);
        if (owner === undefined) continue;
        noteLost.run(owner, distinctId, isShown(owner) ? passId : null);
        note(lost, owner, distinctId);
      }
      // Once for each of them: a merge may move thousands, and each time the whole list is written.
      const others: OtherPerson[] = [];
      for (const other of new Set([...lost.keys(), ...returned.keys()])) {
        const person = list.get(other);
        if (!person) continue;
        const kept = (textListOf(person.distinct_ids) ?? []).filter((held) => lost.get(other)?.has(held) !== true);
        relist.run(JSON.stringify([...kept, ...(returned.get(other) ?? [])]), at, other);
        others.push({ rowKey: other, uuid: person.uuid });
      }
      return others;
    },
    noteShown: (rowKeys, passId) => {
      if (hasDisputes.get() !== undefined) endDisputes.run(passId, JSON.stringify(rowKeys));
    },
  };
}
