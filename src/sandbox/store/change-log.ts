import type Database from 'better-sqlite3';

/** The user that makes a change, and the time of the change on the service's clock. */
export type Change = { userId: number; atMs: number };

export type Activity = {
  atMs: number;
  userId: number;
  personId: number;
  personUuid: string;
  action: 'created' | 'updated' | 'property_deleted' | 'split' | 'deleted' | 'merged';
  /** JSON text of an object. */
  detail: string;
};

export type ChangeLog = ReturnType<typeof changeLogTable>;

/** What the activity endpoint would show if the document gave it a body. Oldest first. */
export function changeLogTable(database: Database.Database) {
  const insertActivity = database.prepare<Activity>(/*sql*/ `
    INSERT INTO person_activity (at_ms, user_id, person_id, person_uuid, action, detail)
    VALUES (@atMs, @userId, @personId, @personUuid, @action, @detail)`);
  const selectActivity = database.prepare<[number], Activity>(/*sql*/ `
    SELECT at_ms AS atMs, user_id AS userId, person_id AS personId, person_uuid AS personUuid, action, detail
    FROM person_activity WHERE person_id = ? ORDER BY id`);
  return {
    addActivity: (activity: Activity): void => void insertActivity.run(activity),
    activity: (personId: number): Activity[] => selectActivity.all(personId),
  };
}
