CREATE INDEX deletions_by_key ON deletions (dataset, key, deleted_at);

CREATE INDEX deletions_by_person ON deletions (person_uuid) WHERE request_id IS NULL;

CREATE INDEX deletions_by_survivor ON deletions (merged_into) WHERE merged_into IS NOT NULL;

CREATE UNIQUE INDEX distinct_id_owners_by_distinct_id ON distinct_id_owners (distinct_id);

CREATE INDEX distinct_ids_disputed ON distinct_ids_lost (distinct_id, shown_pass) WHERE shown_pass IS NOT NULL;

CREATE INDEX erasure_requests_by_state ON erasure_requests (state);

CREATE INDEX fence_by_request ON fence (request_id);

CREATE UNIQUE INDEX persons_by_uuid ON persons (uuid);

CREATE UNIQUE INDEX playlists_by_short_id ON playlists (short_id);

CREATE UNIQUE INDEX recordings_by_id ON recordings (id);

CREATE INDEX request_times_by_end ON request_times (ended_at_ms, lane);

CREATE INDEX runs_by_end ON runs (finished_at);

CREATE INDEX runs_by_job ON runs (job, id);

CREATE TABLE box_parts (
  request_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  encrypted BLOB NOT NULL,
  PRIMARY KEY (request_id, part)
) STRICT;

CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('upsert', 'delete')),
  at TEXT NOT NULL
) STRICT;

CREATE TABLE deletion_plans (
  plan TEXT PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  rows INTEGER NOT NULL,
  rows_total INTEGER NOT NULL,
  held_at TEXT NOT NULL,
  approved_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE deletions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  key TEXT NOT NULL,
  person_uuid TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('deleted', 'merged', 'expired', 'erased')),
  deleted_at TEXT NOT NULL,
  request_id TEXT
, merged_into TEXT, first_seen_pass INTEGER) STRICT;

CREATE TABLE departures (
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  day TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (dataset, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE destinations (
  location TEXT PRIMARY KEY,
  -- How it is reached, as JSON: endpoint, region, forcePathStyle.
  reached_by TEXT NOT NULL,
  followed_at TEXT NOT NULL
, equal_at TEXT, files INTEGER, behind_since TEXT, cause TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE distinct_id_owners (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE distinct_ids_lost (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL, shown_pass INTEGER,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE erasure_epoch (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  epoch INTEGER NOT NULL
) STRICT;

CREATE TABLE erasure_requests (
  id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL DEFAULT 1,
  origin TEXT NOT NULL CHECK (origin IN ('manual', 'upstream', 'restore')),
  basis TEXT NOT NULL,
  authorised_by TEXT,
  delete_events INTEGER NOT NULL CHECK (delete_events IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('received', 'scoped', 'held', 'refused', 'cancelled', 'fenced', 'executing',
    'locally_verified', 'awaiting_upstream', 'attention', 'certified', 'sealed')),
  reason TEXT,
  received_at TEXT NOT NULL,
  due_at TEXT NOT NULL,
  scoped_at TEXT,
  held_at TEXT,
  approved_at TEXT,
  refused_at TEXT,
  cancelled_at TEXT,
  fenced_at TEXT,
  epoch INTEGER,
  verified_at TEXT,
  events_expected_by TEXT,
  certified_at TEXT,
  sealed_at TEXT,
  persons INTEGER,
  distinct_ids INTEGER,
  recordings INTEGER,
  box BLOB
, reopened_at TEXT, listed_again_at TEXT, listed_again BLOB, waits_for TEXT, waits_since TEXT, searched_files INTEGER, erased_by TEXT, stays_out TEXT CHECK (stays_out IN ('not_found', 'not_answered', 'still_open')), life_from TEXT, holders BLOB) STRICT, WITHOUT ROWID;

CREATE TABLE erasure_targets (
  request_id TEXT NOT NULL REFERENCES erasure_requests (id),
  target TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'intended', 'waiting', 'attention', 'done')),
  result TEXT,
  assurance TEXT CHECK (assurance IN ('not_verifiable', 'asserted_by_upstream', 'observed', 'verified')),
  reason TEXT,
  rows INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  confirmations INTEGER NOT NULL DEFAULT 0,
  confirmed_at TEXT,
  not_before TEXT,
  updated_at TEXT NOT NULL, seen_at TEXT, sent_created_at TEXT, own_after TEXT, persons_sent INTEGER, sent_rows INTEGER NOT NULL DEFAULT 0, wait_from TEXT, sent_by TEXT,
  PRIMARY KEY (request_id, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE fence (
  kind TEXT NOT NULL CHECK (kind IN ('person_uuid', 'person_id', 'distinct_id', 'recording_id')),
  mac BLOB NOT NULL,
  request_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  fenced_at TEXT NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  recreated INTEGER NOT NULL DEFAULT 0,
  last_hit_at TEXT, seen_pass INTEGER, served_at TEXT,
  PRIMARY KEY (kind, mac, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  day TEXT NOT NULL,
  series TEXT NOT NULL CHECK (series IN ('persons', 'recordings', 'playlists', 'new', 'changed', 'gone', 'received', 'complete')),
  value INTEGER NOT NULL,
  PRIMARY KEY (day, series)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  holder TEXT NOT NULL,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  taken_at TEXT NOT NULL,
  beat_at TEXT NOT NULL
, process_start TEXT) STRICT;

CREATE TABLE lease_queue (
  place INTEGER PRIMARY KEY,
  holder TEXT NOT NULL UNIQUE,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_start TEXT,
  -- When the lease was taken first; of a run that has not begun, when it came.
  taken_at TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  -- Whether its run has begun.
  has_begun INTEGER NOT NULL CHECK (has_begun IN (0, 1))
) STRICT;

CREATE TABLE lease_token (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  token INTEGER NOT NULL
) STRICT;

CREATE TABLE mirrored_project (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  origin TEXT NOT NULL,
  project_id TEXT NOT NULL
) STRICT;

CREATE TABLE open_alerts (
  kind TEXT NOT NULL,
  job TEXT,
  message TEXT NOT NULL,
  todo TEXT NOT NULL
) STRICT;

CREATE TABLE "passes" (
  id INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  mode TEXT NOT NULL CHECK (mode IN ('full', 'head')),
  plan TEXT NOT NULL,
  verdict TEXT CHECK (verdict IN ('complete', 'incomplete')),
  reason TEXT CHECK (reason IN ('head', 'seam_not_joined', 'order_unstable', 'windows_limit', 'superseded', 'not_found',
    'no_progress', 'count_not_reached', 'too_many_unreadable', 'moment_too_large')),
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
  rows_fenced INTEGER NOT NULL DEFAULT 0,
  rows_distinct INTEGER NOT NULL DEFAULT 0,
  is_default_window INTEGER NOT NULL DEFAULT 0 CHECK (is_default_window IN (0, 1)),
  -- The playlists whose entries a pass was not told, and why: a JSON array.
  untold TEXT NOT NULL DEFAULT '[]',
  -- The rows of the largest moment of which no page showed all; 0 for none.
  moment_rows INTEGER NOT NULL DEFAULT 0, rows_came_after INTEGER NOT NULL DEFAULT 0, rows_trimmed INTEGER NOT NULL DEFAULT 0,
  CHECK ((verdict IS NULL) = (finished_at IS NULL))
) STRICT;

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

CREATE TABLE persons_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

CREATE TABLE persons_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;

CREATE TABLE playlist_recordings (
  short_id TEXT NOT NULL,
  recording_id TEXT NOT NULL, person_uuid TEXT,
  PRIMARY KEY (short_id, recording_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE playlists_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

CREATE TABLE published_fields (
  dataset TEXT NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  element_id INTEGER,
  is_retired INTEGER NOT NULL DEFAULT 0 CHECK (is_retired IN (0, 1)),
  PRIMARY KEY (dataset, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE purge_owed (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  marked INTEGER NOT NULL,
  purged INTEGER NOT NULL
, requests_marked INTEGER NOT NULL DEFAULT 0, requests_purged INTEGER NOT NULL DEFAULT 0) STRICT;

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

CREATE TABLE recordings_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

CREATE TABLE recordings_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;

CREATE TABLE request_pace (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  pace TEXT NOT NULL CHECK (json_valid(pace))
) STRICT;

CREATE TABLE request_times (
  id INTEGER PRIMARY KEY,
  lane TEXT NOT NULL CHECK (lane IN ('general', 'recordings list')),
  is_under_way INTEGER NOT NULL CHECK (is_under_way IN (0, 1)),
  ended_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE restore_key (encrypted BLOB NOT NULL) STRICT;

CREATE TABLE run_totals (
  job TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'incomplete', 'failed', 'interrupted', 'held')),
  runs INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  last_end_at TEXT NOT NULL,
  PRIMARY KEY (job, outcome)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE schema_migrations
      (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;

CREATE TABLE service_clock (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  looked_at TEXT NOT NULL,
  ahead_ms INTEGER NOT NULL,
  agreed_at TEXT
) STRICT;

CREATE TABLE shown_reader (dataset TEXT PRIMARY KEY, reader TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sqlite_sequence(name,seq);

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

CREATE TRIGGER count_run AFTER UPDATE OF outcome ON runs WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
BEGIN
  INSERT INTO run_totals (job, outcome, runs, requests, last_end_at)
    VALUES (NEW.job, NEW.outcome, 1, NEW.requests, NEW.finished_at)
    ON CONFLICT (job, outcome) DO UPDATE SET runs = runs + 1, requests = requests + excluded.requests,
      last_end_at = max(last_end_at, excluded.last_end_at);
END;

CREATE TRIGGER history_of_completion AFTER UPDATE OF certified_at ON erasure_requests
  WHEN OLD.certified_at IS NULL AND NEW.certified_at IS NOT NULL
BEGIN
  INSERT INTO history VALUES (substr(NEW.certified_at, 1, 10), 'complete', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER history_of_deletion AFTER INSERT ON deletions
BEGIN
  INSERT INTO history VALUES (substr(NEW.deleted_at, 1, 10), 'gone', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER history_of_pass AFTER UPDATE OF verdict ON passes WHEN OLD.verdict IS NULL AND NEW.verdict IS NOT NULL
BEGIN
  INSERT INTO history VALUES (substr(NEW.finished_at, 1, 10), NEW.dataset, CASE NEW.dataset
      WHEN 'persons' THEN (SELECT count(*) FROM persons)
      WHEN 'recordings' THEN (SELECT count(*) FROM recordings)
      ELSE (SELECT count(*) FROM playlists) END)
    ON CONFLICT DO UPDATE SET value = excluded.value;
  INSERT INTO history VALUES
      (substr(NEW.finished_at, 1, 10), 'new', NEW.rows_added), (substr(NEW.finished_at, 1, 10), 'changed', NEW.rows_changed)
    ON CONFLICT DO UPDATE SET value = value + excluded.value;
  DELETE FROM history WHERE day < date(NEW.finished_at, '-100 days');
END;

CREATE TRIGGER history_of_receipt AFTER INSERT ON erasure_requests
BEGIN
  INSERT INTO history VALUES (substr(NEW.received_at, 1, 10), 'received', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER persons_shown_changed AFTER UPDATE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;

CREATE TRIGGER persons_shown_removed AFTER DELETE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;

CREATE TRIGGER recordings_shown_changed AFTER UPDATE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;

CREATE TRIGGER recordings_shown_removed AFTER DELETE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;

CREATE TRIGGER shown_before_fence AFTER UPDATE ON erasure_epoch
BEGIN DELETE FROM persons_shown; DELETE FROM recordings_shown; END;

CREATE VIEW person_distinct_ids AS
SELECT distinct_id_owners.distinct_id, persons.uuid AS person_uuid
FROM distinct_id_owners JOIN persons ON persons.row_key = distinct_id_owners.person_row_key;
