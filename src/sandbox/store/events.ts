import type Database from 'better-sqlite3';
import { planWeeklyBatches } from '../weekly-batch-plan.ts';

export type Event = { distinctId: string; event: string; atMs: number };

/** A deletion of events. It waits for its Sunday, or ran at `runAtMs`. */
export type EventDeletion = { id: number; personUuid: string; requestedAtMs: number; runAtMs: number | null };

/**
 * Beside which rows of the same person a service queues one more deletion of events: beside no row that waits (newer releases),
 * beside no row at all (older ones that run elsewhere), or always. Where it queues none, its answer says that it has.
 */
export const deletionRows = ['one_waiting', 'one_ever', 'always'] as const;
export type DeletionRows = (typeof deletionRows)[number];

const blocking: Readonly<Record<DeletionRows, string>> = {
  one_waiting: /*sql*/ `run_at_ms IS NULL`,
  one_ever: /*sql*/ `TRUE`,
  always: /*sql*/ `FALSE`,
};

export type Events = ReturnType<typeof eventTable>;

/** The event store behind the persons, and the queue of its weekly deletions (sections 3 and 8). */
export function eventTable(database: Database.Database, rows: DeletionRows) {
  const insert = database.prepare<Event>(
    /*sql*/ `INSERT INTO events (distinct_id, event, at_ms) VALUES (@distinctId, @event, @atMs)`,
  );
  const count = database.prepare<[string], number>(/*sql*/ `SELECT count(*) FROM events WHERE distinct_id = ?`);
  const queue = database.prepare(/*sql*/ `
    INSERT INTO event_deletions (person_uuid, requested_at_ms, distinct_ids, last_event_id)
    SELECT @personUuid, @requestedAtMs, @distinctIds, coalesce((SELECT max(id) FROM events), 0)
    WHERE NOT EXISTS (SELECT 1 FROM event_deletions WHERE person_uuid = @personUuid AND ${blocking[rows]})`);
  const select = database.prepare<[], EventDeletion>(/*sql*/ `
    SELECT id, person_uuid AS personUuid, requested_at_ms AS requestedAtMs, run_at_ms AS runAtMs
    FROM event_deletions ORDER BY id`);
  const selectQueued = database.prepare<[], { id: number; requestedAtMs: number }>(/*sql*/ `
    SELECT id, requested_at_ms AS requestedAtMs FROM event_deletions WHERE run_at_ms IS NULL ORDER BY id`);
  const deleteEvents = database.prepare<[number]>(/*sql*/ `
    DELETE FROM events WHERE id IN (
      SELECT events.id
      FROM event_deletions, json_each(event_deletions.distinct_ids) AS target
      JOIN events ON events.distinct_id = target.value AND events.id <= event_deletions.last_event_id
      WHERE event_deletions.id = ?)`);
  const markRun = database.prepare<[number, number]>(/*sql*/ `UPDATE event_deletions SET run_at_ms = ? WHERE id = ?`);
  return {
    add: (event: Event): void => void insert.run(event),
    count: (distinctId: string): number => count.pluck().get(distinctId) ?? 0,
    /** Queues the deletion of the events that these distinct ids (a JSON array) have now, where the rows allow one more. */
    queueDeletion: (personUuid: string, distinctIds: string, requestedAtMs: number): void =>
      void queue.run({ personUuid, distinctIds, requestedAtMs }),
    /** Every deletion ever queued, oldest first. */
    deletions: (): EventDeletion[] => select.all(),
    /** Runs every batch that is due at `nowMs`, also missed ones. Returns the times of the batches in milliseconds. */
    runDueDeletions: database.transaction((nowMs: number): number[] => {
      const batches = planWeeklyBatches(selectQueued.all(), nowMs);
      for (const { atMs, taskIds } of batches) {
        for (const id of taskIds) {
          deleteEvents.run(id);
          markRun.run(atMs, id);
        }
      }
      return batches.map(({ atMs }) => atMs);
    }),
  };
}
