-- The mirror of persons, recordings and playlists, and the record of how it was made.
-- Wide rows are appended under a surrogate integer key, with one narrow unique index on the service's own key:
-- clustering by a random uuid costs several times as much. Times are ISO 8601 UTC text, JSON is text.

-- Whose mirror this is: where the service answered at the first sync (scheme, host and port), and the project's id there.
CREATE TABLE mirrored_project (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  origin TEXT NOT NULL,
  project_id TEXT NOT NULL
) STRICT;

-- One walk of one list, and the evidence for its verdict.
-- verdict: null while the pass is under way. reason: why a pass is incomplete. cursor: where an unfinished pass goes
-- on (JSON), written in the same transaction as the rows it covers. plan: page size, overlap and query it was walked
-- with (JSON). is_ordered: whether every page so far came newest first, on which the stronger seam rule rests; where
-- not, rounds tells how often the list was walked until it brought no new row.
CREATE TABLE passes (
  id INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  mode TEXT NOT NULL CHECK (mode IN ('full', 'head')),
  plan TEXT NOT NULL,
  verdict TEXT CHECK (verdict IN ('complete', 'incomplete')),
  reason TEXT CHECK (reason IN ('head', 'seam_not_joined', 'order_unstable', 'windows_limit', 'superseded', 'not_found')),
  started_at TEXT NOT NULL,
  finished_at TEXT,
  windows INTEGER NOT NULL DEFAULT 0,
  seams INTEGER NOT NULL DEFAULT 0,
  step_backs INTEGER NOT NULL DEFAULT 0,
  restarts INTEGER NOT NULL DEFAULT 0,
  rounds INTEGER NOT NULL DEFAULT 1,
  rows_received INTEGER NOT NULL DEFAULT 0,
  rows_added INTEGER NOT NULL DEFAULT 0,
  rows_changed INTEGER NOT NULL DEFAULT 0,
  rows_quarantined INTEGER NOT NULL DEFAULT 0,
  count_reported INTEGER,
  is_ordered INTEGER NOT NULL DEFAULT 1 CHECK (is_ordered IN (0, 1)),
  cursor TEXT,
  CHECK ((verdict IS NULL) = (finished_at IS NULL))
) STRICT;

-- One person as the service last showed it. id: null until the service has shown the integer.
-- distinct_ids: JSON array. extra: fields that the contract does not know (JSON).
CREATE TABLE persons (
  row_key INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL,
  id INTEGER,
  name TEXT,
  distinct_ids TEXT,
  properties TEXT,
  created_at TEXT,
  extra TEXT,
  first_seen_pass INTEGER NOT NULL,
  changed_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX persons_by_uuid ON persons (uuid);

-- Who holds a distinct id now: a merge or a split moves it, and the person shown last holds it.
CREATE TABLE distinct_id_owners (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX distinct_id_owners_by_distinct_id ON distinct_id_owners (distinct_id);

-- What a person has lost to another: where a merge is told from a deletion.
CREATE TABLE distinct_ids_lost (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;

CREATE VIEW person_distinct_ids AS
SELECT distinct_id_owners.distinct_id, persons.uuid AS person_uuid
FROM distinct_id_owners JOIN persons ON persons.row_key = distinct_id_owners.person_row_key;

-- One recording as the service last showed it. person: as embedded (JSON). person_uuid: taken from it.
CREATE TABLE recordings (
  row_key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  distinct_id TEXT,
  person_uuid TEXT,
  viewed INTEGER CHECK (viewed IN (0, 1)),
  viewers TEXT,
  recording_duration INTEGER,
  active_seconds INTEGER,
  inactive_seconds INTEGER,
  start_time TEXT,
  end_time TEXT,
  click_count INTEGER,
  keypress_count INTEGER,
  mouse_activity_count INTEGER,
  console_log_count INTEGER,
  console_warn_count INTEGER,
  console_error_count INTEGER,
  start_url TEXT,
  storage TEXT,
  snapshot_source TEXT,
  ongoing INTEGER CHECK (ongoing IN (0, 1)),
  activity_score REAL,
  person TEXT,
  extra TEXT,
  first_seen_pass INTEGER NOT NULL,
  changed_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX recordings_by_id ON recordings (id);

-- One configured playlist as the service last showed it.
CREATE TABLE playlists (
  row_key INTEGER PRIMARY KEY,
  short_id TEXT NOT NULL,
  id INTEGER,
  name TEXT,
  derived_name TEXT,
  description TEXT,
  pinned INTEGER CHECK (pinned IN (0, 1)),
  created_at TEXT,
  created_by TEXT,
  deleted INTEGER CHECK (deleted IN (0, 1)),
  filters TEXT,
  last_modified_at TEXT,
  last_modified_by TEXT,
  recordings_counts TEXT,
  extra TEXT,
  first_seen_pass INTEGER NOT NULL,
  changed_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX playlists_by_short_id ON playlists (short_id);

-- Which recordings a playlist holds, as far as the service tells (the documented answer has no body).
CREATE TABLE playlist_recordings (
  short_id TEXT NOT NULL,
  recording_id TEXT NOT NULL,
  PRIMARY KEY (short_id, recording_id)
) STRICT, WITHOUT ROWID;

-- The last pass that saw a row: narrow, since every pass writes it for every row.
CREATE TABLE persons_seen (row_key INTEGER PRIMARY KEY, pass_id INTEGER NOT NULL) STRICT;
CREATE TABLE recordings_seen (row_key INTEGER PRIMARY KEY, pass_id INTEGER NOT NULL) STRICT;
CREATE TABLE playlists_seen (row_key INTEGER PRIMARY KEY, pass_id INTEGER NOT NULL) STRICT;

-- A batch of absent rows that is too large to be believed: it waits for a person. plan: digest of dataset and keys.
CREATE TABLE deletion_plans (
  plan TEXT PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  rows INTEGER NOT NULL,
  rows_total INTEGER NOT NULL,
  held_at TEXT NOT NULL,
  approved_at TEXT
) STRICT, WITHOUT ROWID;

-- Rows that a complete pass did not see, until the service has been asked for each of them. Absence only nominates:
-- confirmations counts how often the service said that it has no such row, confirmed_at when it last did. plan: the
-- batch that they are held in.
CREATE TABLE suspects (
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  row_key INTEGER NOT NULL,
  nominated_pass INTEGER NOT NULL,
  nominated_at TEXT NOT NULL,
  confirmations INTEGER NOT NULL DEFAULT 0,
  confirmed_at TEXT,
  plan TEXT REFERENCES deletion_plans (plan),
  PRIMARY KEY (dataset, row_key)
) STRICT, WITHOUT ROWID;

-- What has left the mirror and why, for those who have to delete their copies too.
CREATE TABLE deletions (
  seq INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  key TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('deleted', 'merged', 'expired')),
  deleted_at TEXT NOT NULL
) STRICT;

-- What changed when, in order: keys only, no payload.
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('upsert', 'delete')),
  at TEXT NOT NULL
) STRICT;

-- Rows that could not be read, with the reason; read again at the next pass. row_id: the row's key where that much
-- was readable, else a digest of the payload.
CREATE TABLE quarantine (
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  row_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  payload TEXT NOT NULL,
  first_seen_pass INTEGER NOT NULL,
  last_seen_pass INTEGER NOT NULL,
  seen_at TEXT NOT NULL,
  PRIMARY KEY (dataset, row_id)
) STRICT, WITHOUT ROWID;

-- One execution of a job. outcome: null while it runs. counts: JSON, without personal data.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  job TEXT NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT,
  outcome TEXT CHECK (outcome IN ('done', 'incomplete', 'failed', 'interrupted', 'held')),
  reason TEXT,
  requests INTEGER NOT NULL DEFAULT 0,
  counts TEXT,
  CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT;

-- Who may write: one holder at a time. beat_at: when the holder last said that it lives.
CREATE TABLE lease (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  holder TEXT NOT NULL,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  taken_at TEXT NOT NULL,
  beat_at TEXT NOT NULL
) STRICT;

-- When requests were made, so that limits hold over restarts and for all who share the data folder. ended_at_ms: when
-- the answer had come; while is_under_way, when it will have come at the latest. Milliseconds since 1970.
CREATE TABLE request_times (
  id INTEGER PRIMARY KEY,
  lane TEXT NOT NULL CHECK (lane IN ('general', 'recordings list')),
  is_under_way INTEGER NOT NULL CHECK (is_under_way IN (0, 1)),
  ended_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX request_times_by_end ON request_times (ended_at_ms, lane);
