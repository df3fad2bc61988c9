-- The mirror of persons, recordings and playlists, the record of how it was made, and the requests to erase people.
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
-- not, rounds tells how often the list was walked until it brought no new row. is_default_window: whether the service
-- may show only its own default of days. Of the rows that hold a fenced distinct id, rows_came_after were kept out,
-- since their person came after the erasure, and rows_trimmed were let in without what is fenced.
CREATE TABLE passes (
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
  moment_rows INTEGER NOT NULL DEFAULT 0,
  rows_came_after INTEGER NOT NULL DEFAULT 0,
  rows_trimmed INTEGER NOT NULL DEFAULT 0,
  CHECK ((verdict IS NULL) = (finished_at IS NULL))
) STRICT;
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
-- Not unique: a service that was restored gives an id again.
CREATE INDEX persons_by_id ON persons (id);
-- Whatever else changes or removes a row drops its block.
CREATE TRIGGER persons_shown_changed AFTER UPDATE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;
CREATE TRIGGER persons_shown_removed AFTER DELETE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;

-- Who holds a distinct id now: a merge or a split moves it, and the person shown last holds it.
CREATE TABLE distinct_id_owners (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX distinct_id_owners_by_distinct_id ON distinct_id_owners (distinct_id);

-- What a person has lost to another: where a merge is told from a deletion.
-- A distinct id that one pass shows with two persons stays with the person shown last. shown_pass: the pass that last showed
-- the loser with the id; null when the loser was last shown without it.
CREATE TABLE distinct_ids_lost (
  person_row_key INTEGER NOT NULL,
  distinct_id TEXT NOT NULL,
  shown_pass INTEGER,
  PRIMARY KEY (person_row_key, distinct_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX distinct_ids_disputed ON distinct_ids_lost (distinct_id, shown_pass) WHERE shown_pass IS NOT NULL;

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
CREATE TRIGGER recordings_shown_changed AFTER UPDATE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;
CREATE TRIGGER recordings_shown_removed AFTER DELETE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;

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

-- Which recordings a playlist holds, as far as the service tells (the documented answer has no body). person_uuid, distinct_id: an
-- erasure reaches the row also where the mirror does not have the recording.
CREATE TABLE playlist_recordings (
  short_id TEXT NOT NULL,
  recording_id TEXT NOT NULL,
  person_uuid TEXT,
  distinct_id TEXT,
  PRIMARY KEY (short_id, recording_id)
) STRICT, WITHOUT ROWID;

-- The last pass that saw a row, by ranges of surrogate keys: most passes see rows in the order of their keys, and one range grows
-- with each page. Every key of a range is that of a row; no two ranges overlap, and those that touch are of different passes.
CREATE TABLE persons_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

CREATE TABLE recordings_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

CREATE TABLE playlists_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;

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
-- seq: a deletion has the number of the change that tells of it: one order for both feeds. A person that was merged names the one
-- it was merged into: an erasure of that one tells of both.
-- first_seen_pass: the pass that had first seen the row.
CREATE TABLE deletions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  key TEXT NOT NULL,
  person_uuid TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('deleted', 'merged', 'expired', 'erased')),
  deleted_at TEXT NOT NULL,
  request_id TEXT,
  merged_into TEXT,
  first_seen_pass INTEGER
) STRICT;
-- Whether a row left again later, without reading all that has left.
CREATE INDEX deletions_by_key ON deletions (dataset, key, deleted_at);
CREATE TRIGGER history_of_deletion AFTER INSERT ON deletions
BEGIN
  INSERT INTO history VALUES (substr(NEW.deleted_at, 1, 10), 'gone', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE INDEX deletions_by_person ON deletions (person_uuid) WHERE request_id IS NULL;
CREATE INDEX deletions_by_survivor ON deletions (merged_into) WHERE merged_into IS NOT NULL;

-- When the feed of deletions was published first up to a number.
CREATE TABLE feed_publications (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL
) STRICT;

-- What changed when, in order: keys only, no payload.
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('upsert', 'delete')),
  at TEXT NOT NULL
) STRICT;

-- The properties that persons have shown, counted over rows that were new or changed. types: of the values (JSON). rows: how many such rows had it. addresses, phones, cards: in how many the value looks
-- like an e-mail address, a phone number, the number of a payment card.
CREATE TABLE properties (
  name TEXT PRIMARY KEY,
  types TEXT NOT NULL,
  first_seen_at TEXT NOT NULL,
  rows INTEGER NOT NULL,
  addresses INTEGER NOT NULL,
  phones INTEGER NOT NULL,
  cards INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Up to which change persons were looked at for their properties, how many rows that were, whether changes were left out, and when the
-- first look was over.
CREATE TABLE properties_seen (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  seq INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  has_gaps INTEGER NOT NULL,
  began_at TEXT
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
-- The last runs of one job, newest first, among those of years.
CREATE INDEX runs_by_job ON runs (job, id);
CREATE TRIGGER count_run AFTER UPDATE OF outcome ON runs WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
BEGIN
  INSERT INTO run_totals (job, outcome, runs, requests, last_end_at)
    VALUES (NEW.job, NEW.outcome, 1, NEW.requests, NEW.finished_at)
    ON CONFLICT (job, outcome) DO UPDATE SET runs = runs + 1, requests = requests + excluded.requests,
      last_end_at = max(last_end_at, excluded.last_end_at);
END;
CREATE INDEX runs_by_end ON runs (finished_at);

-- Who may write: one holder at a time. What keeps others out is the lock of mirror.lock; this row tells who has it, or had it
-- when it was killed.
CREATE TABLE lease (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  holder TEXT NOT NULL,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  taken_at TEXT NOT NULL
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

-- How many times the fence has grown: an older database (a restored backup) is told by an epoch below the ledger's.
CREATE TABLE erasure_epoch (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  epoch INTEGER NOT NULL
) STRICT;
INSERT INTO erasure_epoch VALUES (1, 0);

-- The entries of the ledger, up to the last one about a request, that the tables of requests are made of: how many, and their root hash. A ledger that was written anew is told by it.
CREATE TABLE taken_entries (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  entries INTEGER NOT NULL,
  root TEXT NOT NULL
) STRICT;

-- One request to erase one subject. What it has in common with the ledger is made of the ledger's entries. state: a function of the other columns and of the targets, kept for readers.
-- reason: why it is held, refused or in attention. persons, distinct_ids, recordings: what was found when it was scoped.
-- events_expected_by: when the service's weekly batch should have run. box: who is erased, and what is searched for
-- afterwards, encrypted; null once the request is sealed.
-- listed_again_pass: the pass that showed the
-- person again after the service had said that the person is gone; listed_again: the identifiers of that row, encrypted as
-- in a box, until the next reconciliation. waits_for, waits_since: why an open request cannot go on by itself, and since when.
-- searched_files: how many published files were searched before the request was refused. erased_by: the earlier request that
-- erased the same person.
-- stays_out: why a row that was taken for deleted at the service, and that the service lists again, stays out; null where it was
-- not asked for yet.
-- life_from: when the life of the request began, at the first reconciliation in which both clocks agreed. life_ended_at: when it
-- was over before the request had come to its end. listed_until: until when its certificate says that the feed of deletions names
-- its rows.
-- holders: who else had a distinct id of the person before the first deletion was sent, by uuid: encrypted as in a box, until
-- an operator has decided.
CREATE TABLE erasure_requests (
  id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL DEFAULT 1,
  is_access INTEGER NOT NULL DEFAULT 0 CHECK (is_access IN (0, 1)),
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
  box BLOB,
  listed_again_pass INTEGER,
  listed_again BLOB,
  waits_for TEXT,
  waits_since TEXT,
  searched_files INTEGER,
  erased_by TEXT,
  stays_out TEXT CHECK (stays_out IN ('not_found', 'not_answered', 'still_open')),
  life_from TEXT,
  life_ended_at TEXT,
  listed_until TEXT,
  holders BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX erasure_requests_by_state ON erasure_requests (state);
CREATE TRIGGER history_of_receipt AFTER INSERT ON erasure_requests WHEN NOT NEW.is_access
BEGIN
  INSERT INTO history VALUES (substr(NEW.received_at, 1, 10), 'received', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER history_of_completion AFTER UPDATE OF certified_at ON erasure_requests
  WHEN OLD.certified_at IS NULL AND NEW.certified_at IS NOT NULL
BEGIN
  INSERT INTO history VALUES (substr(NEW.certified_at, 1, 10), 'complete', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;

-- What a request has to reach. status: how far; result and assurance: how it ended. rows: expected to be found.
-- confirmations, confirmed_at: how often the service said so. not_before: when it is worth the next attempt.
-- Of `upstream.person`. seen_at: when the service showed the person, if it did when it was last asked.
-- sent_created_at: when the newest of those who were sent for deletion was created, by the service's clock.
-- sent_by: by when, by the service's clock, the first deletion was sent.
-- Of `upstream.events`. own_after: after which time, by the service's clock, a row of the service's queue can be the request's
-- own. persons_sent: how many persons were sent for deletion.
-- sent_rows: how many rows the service was asked to delete, each by its id. wait_from: when the wait of a target began.
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
  updated_at TEXT NOT NULL,
  seen_at TEXT,
  sent_created_at TEXT,
  own_after TEXT,
  persons_sent INTEGER,
  sent_rows INTEGER NOT NULL DEFAULT 0,
  wait_from TEXT,
  sent_by TEXT,
  PRIMARY KEY (request_id, target)
) STRICT, WITHOUT ROWID;

-- Who must not be mirrored again. mac: HMAC-SHA-256 of kind and value under a key that is not in this database.
-- hits: how often a row was kept out; recreated: of these, how often by somebody who was created after the erasure.
-- Who comes after an erasure is told by what was known when its fence rose, and by no clock of this machine. seen_pass: no row
-- that was added since has a first_seen_pass up to it; null where no pass over the persons had been complete by then.
-- served_at: the service's own time then; null where it had not told any.
CREATE TABLE fence (
  kind TEXT NOT NULL CHECK (kind IN ('person_uuid', 'person_id', 'distinct_id', 'recording_id')),
  mac BLOB NOT NULL,
  request_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  fenced_at TEXT NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  recreated INTEGER NOT NULL DEFAULT 0,
  last_hit_at TEXT,
  seen_pass INTEGER,
  served_at TEXT,
  created_mac BLOB,
  PRIMARY KEY (kind, mac, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fence_by_request ON fence (request_id);

-- Whether the file may still hold what was deleted. marked: how often something was deleted that has to be unreadable;
-- purged: how often when the last purge that was done began.
CREATE TABLE purge_owed (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  marked INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
INSERT INTO purge_owed VALUES (1, 0, 0);

-- The alerts that the worker has told of as begun, and not yet as ended: what a restarted one is to compare with.
-- Kinds and jobs are those of the program's settings; `job` is null for what is about the whole project.
CREATE TABLE open_alerts (
  kind TEXT NOT NULL,
  job TEXT,
  message TEXT NOT NULL,
  todo TEXT NOT NULL
) STRICT;

-- What the runs of each job came to, so that old runs need not be kept to be counted.
CREATE TABLE run_totals (
  job TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'incomplete', 'failed', 'interrupted', 'held')),
  runs INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  last_end_at TEXT NOT NULL,
  PRIMARY KEY (job, outcome)
) STRICT, WITHOUT ROWID;

-- The key under which the ledger has the MACs of the fence, encrypted under the key of the fence. One row, or none.
CREATE TABLE restore_key (encrypted BLOB NOT NULL) STRICT;

-- The numbers that columns have in published files, for good. element_id: that of a list's elements. is_retired: the column is
-- published no more.
CREATE TABLE published_fields (
  dataset TEXT NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  element_id INTEGER,
  is_retired INTEGER NOT NULL DEFAULT 0 CHECK (is_retired IN (0, 1)),
  PRIMARY KEY (dataset, id)
) STRICT, WITHOUT ROWID;

-- The identifiers of a large person's box: some thousands each, encrypted as the box is. The box says how many parts it has.
CREATE TABLE box_parts (
  request_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  encrypted BLOB NOT NULL,
  PRIMARY KEY (request_id, part)
) STRICT;

-- The days of the mirror, for charts: how many rows each list had after its last pass of the day; how many rows were new,
-- changed or gone; how many erasure requests came and were complete. Days are UTC.
CREATE TABLE history (
  day TEXT NOT NULL,
  series TEXT NOT NULL CHECK (series IN ('persons', 'recordings', 'playlists', 'new', 'changed', 'gone', 'received', 'complete')),
  value INTEGER NOT NULL,
  PRIMARY KEY (day, series)
) STRICT, WITHOUT ROWID;

-- Fingerprints of rows as they were shown: a row that is shown by the same bytes again is the row that is stored.
-- block: 128 surrogate keys in a row. prints: 28 bytes for each of them, zeros where there is none (SHA-256 of the bytes, cut
-- to 16; their length; the time that the row is sorted by). A fingerprint is written in the transaction that wrote its row, and
-- only where what is stored is what was shown.
CREATE TABLE persons_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;

CREATE TABLE recordings_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;

-- Which reader has written them: another version, other columns or another depth of JSON could read the same bytes otherwise.
CREATE TABLE shown_reader (dataset TEXT PRIMARY KEY, reader TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Where published files were ever put, beside the folder. A place leaves the table when it was seen to hold none of them.
-- How a place stands to the folder: when both were last seen equal, since when it may be behind, and why (no personal data).
CREATE TABLE destinations (
  location TEXT PRIMARY KEY,
  -- How it is reached, as JSON: location, endpoint, region, forcePathStyle.
  reached_by TEXT NOT NULL,
  followed_at TEXT NOT NULL,
  answered_at TEXT,
  equal_at TEXT,
  files INTEGER,
  behind_since TEXT,
  cause TEXT
) STRICT, WITHOUT ROWID;

-- The objects that stood in such a place when it was last seen to be equal: facts are what the store told of an object, as JSON.
CREATE TABLE seen_objects (
  location TEXT NOT NULL,
  -- Path, version and tag, as JSON.
  object TEXT NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (location, object)
) STRICT, WITHOUT ROWID;

-- What the service's answers 429 have taught those who use this mirror, as JSON: until when nobody asks, and which limit was learnt.
CREATE TABLE request_pace (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  pace TEXT NOT NULL CHECK (json_valid(pace))
) STRICT;

-- What the last answer that told the service's time has said of this machine's clock. `ahead_ms` is below 0 where the clock is behind.
-- `agreed_at` is the newest present at which both clocks agreed.
CREATE TABLE service_clock (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  looked_at TEXT NOT NULL,
  ahead_ms INTEGER NOT NULL,
  agreed_at TEXT
) STRICT;

-- How many rows left a dataset on a day by the service's own deletion, and without an approval.
CREATE TABLE departures (
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  day TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (dataset, day)
) STRICT, WITHOUT ROWID;

-- Who waits for the lease, in the order of coming: runs that are about to begin, and passes that have given way in their midst.
CREATE TABLE lease_queue (
  place INTEGER PRIMARY KEY,
  holder TEXT NOT NULL UNIQUE,
  job TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  -- When the lease was taken first; of a run that has not begun, when it came.
  taken_at TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  -- Whether its run has begun.
  has_begun INTEGER NOT NULL CHECK (has_begun IN (0, 1))
) STRICT;
