import type { Database } from 'better-sqlite3';
import { datasets, keyKind, type MirroredDataset } from '../contract/datasets.ts';
import { nobody, type Identity } from '../contract/identity.ts';
import { sightingOf } from '../contract/row-readers.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import type { Hit } from './fenced-identifier.ts';

/**
 * Why a row that was taken for deleted at the service stays out although it is listed: the service answers 404 for its id, or
 * nothing that can be used, or its request is not ended.
 */
export type StaysOut = 'not_found' | 'not_answered' | 'still_open';

/** Forgets that rows were listed again which a later complete pass has not shown. */
export function forgetUnlisted(db: Database): void {
  const lastPass = (dataset: string): string => /*sql*/ `(SELECT max(id) FROM passes
    WHERE dataset = '${dataset}' AND mode = 'full' AND verdict = 'complete')`;
  db.exec(/*sql*/ `UPDATE erasure_requests SET listed_again_pass = NULL, listed_again = NULL, stays_out = NULL
    WHERE origin = 'upstream' AND listed_again_pass < iif(
      EXISTS (SELECT 1 FROM fence WHERE request_id = id AND kind = 'person_uuid'), ${lastPass('persons')}, ${lastPass('recordings')})`);
}

/** How many rows are listed again that were taken for deleted at the service, and why they stay out; null: not asked for yet. */
export function countListedAgain(db: Database): { why: StaysOut | null; rows: number }[] {
  const sql = /*sql*/ `SELECT stays_out AS why, count(*) AS rows FROM erasure_requests
    WHERE origin = 'upstream' AND listed_again_pass IS NOT NULL GROUP BY stays_out ORDER BY stays_out`;
  return db.prepare<[], { why: StaysOut | null; rows: number }>(sql).all();
}

/** A row that the fence keeps out. `isSame`: it is of before the erasure, and not of a person who came back since. */
export type KeptOut = { row: Readonly<Columns>; isSame: boolean };

/**
 * Prepares the note that a page shows a row that the service had said to be gone, by what fenced the row: on the newest request
 * that somebody asked for; else on each request for the deletion of this very row at the service. Of the row only the
 * identifiers are kept, encrypted. Nothing is noted before the service has said so.
 */
export function prepareNoteListedAgain(
  db: Database,
  dataset: MirroredDataset,
): (hits: readonly Hit[], keptOut: KeptOut) => void {
  const kind = keyKind(dataset);
  const goneAs = kind === 'person_uuid' ? `'upstream.person'` : `'upstream.recordings'`;
  // By the pass that is under way, and by no clock: whether a later pass has shown it, too, is a question of order.
  const set = /*sql*/ `UPDATE erasure_requests SET listed_again = encrypt_text(id, @identity),
    listed_again_pass = ifnull((SELECT max(id) FROM passes WHERE dataset = '${dataset}'), 0) WHERE id = @id`;
  const noteAsked = db.prepare(/*sql*/ `${set} AND listed_again_pass IS NULL AND EXISTS (SELECT 1 FROM erasure_targets
    WHERE request_id = id AND target = ${goneAs} AND result IN ('deleted', 'already_absent', 'absent'))`);
  // A deletion of a person fences the person's recordings too: these come back with the person.
  const noteDeleted = db.prepare(/*sql*/ `${set} AND origin = 'upstream' AND NOT EXISTS (SELECT 1 FROM fence
    WHERE request_id = id AND kind = 'person_uuid' AND '${kind}' <> 'person_uuid')`);
  return (hits, { row, isSame }) => {
    const hit = hits.find((each) => each.kind === kind);
    if (!hit) return;
    const asked = hit.fencings.find(({ origin }) => origin !== 'upstream');
    const identity = JSON.stringify(identityIn(dataset, row));
    if (asked) {
      if (isSame) noteAsked.run({ id: asked.requestId, identity });
    } else if (hits.length === 1 || kind === 'person_uuid')
      for (const { requestId: id } of hit.fencings) noteDeleted.run({ id, identity });
  };
}

function identityIn(dataset: MirroredDataset, row: Readonly<Columns>): Identity {
  if (dataset !== 'persons') return { ...nobody, recording_id: [String(row[datasets[dataset].key])] };
  const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds } = sightingOf('persons', row);
  return {
    ...nobody,
    person_uuid: uuid === null ? [] : [uuid],
    person_id: id === null ? [] : [id],
    distinct_id: distinctIds,
  };
}
