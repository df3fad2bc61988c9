import { plainColumnTypes } from './person-row.ts';

/** Every table of the service. Times are integers: `_us` microseconds, `_ms` milliseconds since 1970; JSON is text. */
export const tables = /*sql*/ `
-- One value each: the seed of the data, and how far the clock was moved.
CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE users (id INTEGER PRIMARY KEY, document TEXT NOT NULL) STRICT;
-- scopes is a JSON array.
CREATE TABLE api_keys (
  key TEXT PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users, scopes TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: the id of a deleted person must never come back as somebody else.
-- properties is JSON text exactly as it was written; email repeats properties.email where that is a string.
CREATE TABLE persons (
  id INTEGER PRIMARY KEY AUTOINCREMENT, created_at_us INTEGER NOT NULL, email TEXT, ${plainColumnTypes},
  -- What a column store sorts by: milliseconds, and the second half of the uuid before its first.
  created_at_ms INTEGER AS ((created_at_us - (created_at_us % 1000 + 1000) % 1000) / 1000),
  uuid_key TEXT AS (substr(uuid, 20) || substr(uuid, 1, 18))
) STRICT;
-- Persons that came back after their deletion.
CREATE TABLE returned_persons (person_id INTEGER PRIMARY KEY) STRICT;
-- Who had a distinct id last, of those who were deleted.
CREATE TABLE person_distinct_ids (
  person_id INTEGER NOT NULL, position INTEGER NOT NULL, distinct_id TEXT NOT NULL,
  PRIMARY KEY (person_id, position)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE person_search USING fts5(email, content='', contentless_delete=1);

-- Who changed which person when: user_id, person_*, at_ms. detail is a JSON object. The ids are versions: they grow.
CREATE TABLE person_activity (
  id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, user_id INTEGER NOT NULL,
  person_id INTEGER NOT NULL, person_uuid TEXT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('created', 'updated', 'property_deleted', 'split', 'deleted', 'merged')),
  detail TEXT NOT NULL
) STRICT;

-- AUTOINCREMENT: a queued deletion covers the events up to an id, which no later event may take.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, distinct_id TEXT NOT NULL, event TEXT NOT NULL, at_ms INTEGER NOT NULL
) STRICT;
-- The events of these distinct ids (a JSON array) up to last_event_id; run_at_ms is null until the batch ran.
CREATE TABLE event_deletions (
  id INTEGER PRIMARY KEY, person_uuid TEXT NOT NULL, requested_at_ms INTEGER NOT NULL,
  distinct_ids TEXT NOT NULL, last_event_id INTEGER NOT NULL, run_at_ms INTEGER
) STRICT;

-- document is the recording as it is served, with the person as it was when it was recorded.
CREATE TABLE recordings (
  sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, start_us INTEGER NOT NULL, document TEXT NOT NULL
) STRICT;
-- Positions of a list that hold no row, where the list would have it by time and key.
CREATE TABLE ghosts (
  list TEXT NOT NULL CHECK (list IN ('persons', 'recordings')), at_us INTEGER NOT NULL, key TEXT NOT NULL,
  at_ms INTEGER AS ((at_us - (at_us % 1000 + 1000) % 1000) / 1000)
) STRICT;
-- document is the playlist as it is served, without recordings_counts, which is counted.
CREATE TABLE playlists (id INTEGER PRIMARY KEY, short_id TEXT NOT NULL UNIQUE, document TEXT NOT NULL) STRICT;
CREATE TABLE playlist_recordings (
  playlist_id INTEGER NOT NULL, recording_id TEXT NOT NULL, PRIMARY KEY (playlist_id, recording_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE insights (
  id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, user_id INTEGER NOT NULL, document TEXT NOT NULL
) STRICT;
`;

/**
 * They are made after the first filling, which they would slow down. The indexes for the order of the lists are
 * narrow and covering, so that a large offset reads few pages; their second column is the row's integer key.
 */
export const indexes = /*sql*/ `
CREATE INDEX persons_newest_first ON persons (created_at_us);
CREATE INDEX persons_as_selected ON persons (created_at_ms, uuid_key);
CREATE UNIQUE INDEX persons_by_uuid ON persons (uuid);
CREATE INDEX persons_by_email ON persons (email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX persons_by_distinct_id ON person_distinct_ids (distinct_id);
CREATE INDEX recordings_newest_first ON recordings (start_us);
CREATE INDEX recordings_as_selected ON recordings (start_us, id);
CREATE INDEX ghosts_of_persons ON ghosts (list, at_ms, key);
CREATE INDEX ghosts_of_recordings ON ghosts (list, at_us, key);
CREATE INDEX person_activity_by_uuid ON person_activity (person_uuid);
CREATE INDEX events_by_distinct_id ON events (distinct_id);
`;
