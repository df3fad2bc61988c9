import { describe, expect, it } from 'vitest';
import { preparePageCommit } from '../mirror/commit-page.ts';
import type { Database } from '../../src/mirror/database.ts';
import { finishPass, noEvidence, startPass } from '../../src/mirror/passes.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';
import { contradictionsIn } from './mirror-consistency.ts';

const at = new Date(stillClock.now()).toISOString();

/** A mirror after a pass over two persons. */
function mirrorAtRest(): Database {
  const { db } = openTestMirror();
  const pass = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const rows = ['a', 'b'].map((uuid) => ({ uuid, distinct_ids: JSON.stringify([`${uuid}1`]) }));
  preparePageCommit(db, 'persons', pass)({ rows, quarantined: [], at }, noEvidence, '{}');
  finishPass(db, pass, null, at);
  return db;
}

describe('contradictions in a mirror', () => {
  it('are none after a pass', () => {
    expect(contradictionsIn(mirrorAtRest())).toEqual([]);
  });

  it.each([
    ['a listed distinct id that is not owned', `DELETE FROM distinct_id_owners WHERE distinct_id = 'a1'`],
    ['an owner of a distinct id that does not list it', `UPDATE persons SET distinct_ids = '[]' WHERE uuid = 'a'`],
    [
      'a distinct id lost by the person who has it',
      `INSERT INTO distinct_ids_lost SELECT *, NULL FROM distinct_id_owners`,
    ],
    ['a distinct id lost by a person who is not there', `INSERT INTO distinct_ids_lost VALUES (9, 'x', NULL)`],
    ['a row of persons that no pass saw', `UPDATE persons_seen SET from_key = 2`],
    ['a sight of a row that persons lacks', `INSERT INTO persons_seen VALUES (9, 9, 1)`],
    ['a row of persons whose last change is not told', `DELETE FROM changes WHERE key = 'a'`],
    [
      'a change of a row that left persons without a word',
      `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'c', 'upsert', '')`,
    ],
    ['counts of rows added to persons that are not how many came', `UPDATE passes SET rows_added = 4`],
    [
      'a suspect of persons',
      `INSERT INTO suspects (dataset, row_key, nominated_pass, nominated_at) VALUES ('persons', 1, 1, '')`,
    ],
    [
      'a deletion from persons that is told under another number',
      `INSERT INTO deletions (dataset, key, reason, deleted_at) VALUES ('persons', 'c', 'deleted', '')`,
    ],
    [
      'a told deletion from persons that is none',
      `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'c', 'delete', '')`,
    ],
    ['a fingerprint of a row that persons lacks', `INSERT INTO persons_shown VALUES (1, randomblob(28 * 128))`],
    ['a run without an outcome', `INSERT INTO runs (job, started_at) VALUES ('sync', '')`],
    ['a lease that nobody gave back', `INSERT INTO lease VALUES (1, 'x', 'sync', 'here', 1, '')`],
    [
      'a pass that was not taken up to its end',
      `INSERT INTO passes (dataset, mode, plan, started_at) VALUES ('persons', 'full', '{}', '')`,
    ],
  ])('are found: %s', (what, planted) => {
    const db = mirrorAtRest();
    db.exec(planted);
    expect(contradictionsIn(db)).toContain(what);
  });
});
