import type Database from 'better-sqlite3';
import type { Change } from './change-log.ts';
import { distinctIdsOf, personColumns, type NewPerson, type PersonRow } from './person-row.ts';
import { propertiesOf, type PersonWriter } from './person-writer.ts';

/** The statements about persons that the API does not have. */
function prepareStatements(database: Database.Database) {
  return {
    selectId: database.prepare<[string], number>(/*sql*/ `SELECT id FROM persons WHERE uuid = ?`),
    selectOwner: database.prepare<[string], PersonRow>(/*sql*/ `
      SELECT ${personColumns} FROM persons
      WHERE id = (SELECT person_id FROM person_distinct_ids WHERE distinct_id = ?)`),
    selectAtOrAfter: database.prepare<[number], number>(
      /*sql*/ `SELECT id FROM persons WHERE id >= ? ORDER BY id LIMIT 1`,
    ),
    selectNeighbours: database.prepare<[number, number], number>(/*sql*/ `
      SELECT neighbour.id FROM persons AS first
      JOIN persons AS neighbour ON (neighbour.created_at_us, neighbour.id) <= (first.created_at_us, first.id)
      WHERE first.id = ? ORDER BY neighbour.created_at_us DESC, neighbour.id DESC LIMIT ?`),
    countPersons: database.prepare<[], number>(/*sql*/ `SELECT count(*) FROM persons`),
    moveDistinctIds: database.prepare(/*sql*/ `
      UPDATE person_distinct_ids SET person_id = @survivor, position = position + @positions
      WHERE person_id = @loser`),
    insertDistinctId: database.prepare(/*sql*/ `
      INSERT INTO person_distinct_ids (person_id, position, distinct_id)
      SELECT @id, coalesce(max(position), -1) + 1, @distinctId FROM person_distinct_ids WHERE person_id = @id`),
    moveBack: database.prepare(
      /*sql*/ `UPDATE persons SET created_at_us = min(created_at_us, @createdAtMicros) WHERE id = @id`,
    ),
    selectDeleted: database.prepare<[string], { id: number; detail: string }>(/*sql*/ `
      SELECT person_id AS id, detail FROM person_activity
      WHERE person_uuid = ? AND action = 'deleted' ORDER BY person_activity.id DESC LIMIT 1`),
    insertReturned: database.prepare(/*sql*/ `INSERT OR IGNORE INTO returned_persons (person_id) VALUES (?)`),
    tieOldest: database.prepare<{ count: number }>(/*sql*/ `
      UPDATE persons SET created_at_us = (
        SELECT max(created_at_us) FROM (SELECT created_at_us FROM persons ORDER BY created_at_us, id LIMIT @count))
      WHERE id IN (SELECT id FROM persons ORDER BY created_at_us, id LIMIT @count)`),
  };
}

/**
 * What happens to persons outside the API: events create persons, merge them and bring deleted ones back. Every
 * change is one transaction, with its log.
 */
export function personLifecycle(database: Database.Database, { writer }: { writer: PersonWriter }) {
  const statements = prepareStatements(database);
  const isTaken = (distinctId: string): boolean => statements.selectOwner.get(distinctId) !== undefined;

  return {
    idOf: (uuid: string): number | undefined => statements.selectId.pluck().get(uuid),
    ownerOf: (distinctId: string): PersonRow | undefined => statements.selectOwner.get(distinctId),
    count: (): number => statements.countPersons.pluck().get() ?? 0,
    /** The living person with this id or the next higher one. */
    atOrAfter: (id: number): number | undefined => statements.selectAtOrAfter.pluck().get(id),
    /** Ids of a person and of the persons that follow in the list, at most `count` in all. */
    neighbours: (id: number, count: number): number[] => statements.selectNeighbours.pluck().all(id, count),
    nextId: writer.nextId,
    uuidFor: writer.uuidFor,

    /** Creates a person under the next id. If a distinct id is taken, does nothing and returns undefined. */
    create: database.transaction((make: (id: number) => NewPerson, change: Change): PersonRow | undefined => {
      const person = make(writer.nextId());
      return person.distinctIds.some(isTaken) ? undefined : createPerson(writer, { ...person, id: null }, {}, change);
    }),

    /** Gives a person distinct ids that no person has. */
    addDistinctIds: database.transaction((id: number, distinctIds: readonly string[]): void => {
      for (const distinctId of distinctIds) statements.insertDistinctId.run({ id, distinctId });
    }),

    /**
     * Merges two persons. The loser disappears; its distinct ids, and the properties that the survivor lacks, move to
     * the survivor. The survivor's `created_at` becomes the older of both. False if one does not live, or if both are
     * the same.
     */
    merge: database.transaction((loserId: number, survivorId: number, change: Change): boolean => {
      const loser = writer.find(loserId);
      const survivor = writer.find(survivorId);
      if (!loser || !survivor || loserId === survivorId) return false;
      const positions = distinctIdsOf(survivor).length;
      statements.moveDistinctIds.run({ loser: loserId, survivor: survivorId, positions });
      writer.remove(loserId);
      const properties = { ...propertiesOf(loser), ...propertiesOf(survivor) };
      writer.setProperties(survivor, properties, 'updated', change);
      statements.moveBack.run({ id: survivorId, createdAtMicros: loser.createdAtMicros });
      writer.logActivity(loser, 'merged', { into: survivor.uuid }, change);
      return true;
    }),

    /**
     * Brings a deleted person back as later events do: the same uuid under a new id, or under its former one, created now, with
     * its distinct ids that are free. Undefined if it lives, was never deleted, or has no free distinct id.
     */
    resurrect: database.transaction((uuid: string, change: Change, revivesId = false): PersonRow | undefined => {
      const deleted = statements.selectDeleted.get(uuid);
      if (deleted === undefined || statements.selectId.get(uuid) !== undefined) return undefined;
      const former = (JSON.parse(deleted.detail) as { distinct_ids: string[] }).distinct_ids;
      const distinctIds = former.filter((distinctId) => !isTaken(distinctId));
      const [name] = distinctIds;
      if (name === undefined) return undefined;
      const id = revivesId ? deleted.id : null;
      const createdAtMicros = change.atMs * 1000;
      const returned = createPerson(
        writer,
        { id, uuid, name, createdAtMicros, distinctIds, properties: '{}', email: null },
        { again: true },
        change,
      );
      statements.insertReturned.run(returned.id);
      return returned;
    }),

    /** Lets the oldest persons share the time of the newest of them. */
    tieOldest: (count: number): void => void statements.tieOldest.run({ count }),
  };
}

function createPerson(writer: PersonWriter, person: NewPerson, detail: object, change: Change): PersonRow {
  const id = person.id ?? writer.nextId();
  writer.add({ ...person, id });
  writer.logActivity({ id, uuid: person.uuid }, 'created', detail, change);
  const created = writer.find(id);
  if (!created) throw new Error(`person ${id} was added and is not there`);
  return created;
}
