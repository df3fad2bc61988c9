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

/** The change of one property. Values are JSON text, or null if the key was absent. */
export type PropertyChange = {
  atMs: number;
  userId: number;
  personId: number;
  key: string;
  before: string | null;
  after: string | null;
};

export type ChangeLog = ReturnType<typeof changeLogTable>;

/** What the activity and timeline endpoints would show if the document gave them a body. Oldest first. */
export function changeLogTable(database: Database.Database) {
  const insertActivity = database.prepare<Activity>(/*sql*/ `
    INSERT INTO person_activity (at_ms, user_id, person_id, person_uuid, action, detail)
    VALUES (@atMs, @userId, @personId, @personUuid, @action, @detail)`);
  const insertPropertyChange = database.prepare<PropertyChange>(/*sql*/ `
    INSERT INTO property_changes (at_ms, user_id, person_id, key, before, after)
    VALUES (@atMs, @userId, @personId, @key, @before, @after)`);
  const selectActivity = database.prepare<[number], Activity>(/*sql*/ `
    SELECT at_ms AS atMs, user_id AS userId, person_id AS personId, person_uuid AS personUuid, action, detail
    FROM person_activity WHERE person_id = ? ORDER BY id`);
  const selectTimeline = database.prepare<[number], PropertyChange>(/*sql*/ `
    SELECT at_ms AS atMs, user_id AS userId, person_id AS personId, key, before, after
    FROM property_changes WHERE person_id = ? ORDER BY id`);
  return {
    addActivity: (activity: Activity): void => void insertActivity.run(activity),
    addPropertyChange: (change: PropertyChange): void => void insertPropertyChange.run(change),
    activity: (personId: number): Activity[] => selectActivity.all(personId),
    propertiesTimeline: (personId: number): PropertyChange[] => selectTimeline.all(personId),
  };
}
