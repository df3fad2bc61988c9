import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { microsToIso } from '../../core/time.ts';
import { distinctIdsOf, personColumns, type PersonRow } from './person-row.ts';

/** A living person. `properties` is JSON text exactly as it is served. */
export type LivingPerson = {
  state: 'living';
  uuid: string;
  id: number;
  distinct_ids: string[];
  created_at: string;
  properties: string;
  /** The version that created the person; 0 for a person of the first filling. */
  since_version: number;
};

/** A person that was deleted, or merged into the person with the uuid `merged_into`. */
export type GonePerson = {
  state: 'gone';
  uuid: string;
  id: number;
  at: string;
  merged_into: string | null;
  until_version: number;
};

export type Truth = ReturnType<typeof truthTable>;

const rowsAtOnce = 1000;

/**
 * The data as they really are, whatever an answer shows. Versions count the changes of persons. Rows are read in
 * small groups, so that the store may change between two groups.
 */
export function truthTable(database: Database.Database) {
  const selectVersion = database.prepare<[], number>(/*sql*/ `SELECT coalesce(max(id), 0) FROM person_activity`);
  const selectLiving = database.prepare<[number], PersonRow & { sinceVersion: number }>(/*sql*/ `
    SELECT ${personColumns}, coalesce((
      SELECT max(log.id) FROM person_activity AS log
      WHERE log.person_uuid = persons.uuid AND log.person_id = persons.id AND log.action = 'created'
    ), 0) AS sinceVersion
    FROM persons WHERE id > ? ORDER BY id LIMIT ${rowsAtOnce}`);
  type GoneRow = Omit<GonePerson, 'state' | 'at'> & { at_ms: number };
  const selectGone = database.prepare<[number], GoneRow>(/*sql*/ `
    SELECT log.id AS until_version, person_uuid AS uuid, person_id AS id, at_ms, detail ->> 'into' AS merged_into
    FROM person_activity AS log WHERE log.id > ? AND action IN ('deleted', 'merged')
    ORDER BY log.id LIMIT ${rowsAtOnce}`);
  const selectCreated = database.prepare<[number], string>(/*sql*/ `
    SELECT person_uuid FROM person_activity WHERE id > ? AND action = 'created' ORDER BY id`);

  function* living(): Generator<LivingPerson> {
    let rows = selectLiving.all(0);
    for (; rows.length > 0; rows = selectLiving.all(rows.at(-1)?.id ?? 0))
      for (const { id, uuid, distinctIds, createdAtMicros, properties, sinceVersion } of rows)
        yield {
          state: 'living',
          uuid,
          id,
          distinct_ids: distinctIdsOf({ distinctIds }),
          created_at: microsToIso(createdAtMicros),
          properties,
          since_version: sinceVersion,
        };
  }

  function* gone(): Generator<GonePerson> {
    let rows = selectGone.all(0);
    for (; rows.length > 0; rows = selectGone.all(rows.at(-1)?.until_version ?? 0))
      for (const { at_ms, ...row } of rows) yield { state: 'gone', at: isoTime(at_ms), ...row };
  }

  return {
    /** Grows with every change of a person. */
    version: (): number => selectVersion.pluck().get() ?? 0,
    /** Uuids of the persons that were created after that version, oldest first. */
    createdSince: (version: number): string[] => selectCreated.pluck().all(version),
    living,
    /** The deleted and merged persons, oldest first. A person that came back is listed for each time. */
    gone,
    /** Uuids of the persons who existed at that version and at every later one. */
    *stableSince(version: number): Generator<string> {
      for (const { uuid, since_version: sinceVersion } of living()) if (sinceVersion <= version) yield uuid;
    },
  };
}
