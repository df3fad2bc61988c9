-- Erasure: requests, what they have to reach, the fence that keeps erased people out, and the feed for those who hold copies.

-- How many times the fence has grown: an older database (a restored backup) is told by an epoch below the ledger's.
CREATE TABLE erasure_epoch (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  epoch INTEGER NOT NULL
) STRICT;
INSERT INTO erasure_epoch (only_row, epoch) VALUES (1, 0);

-- One request to erase one subject. state: a function of the other columns and of the targets, kept for readers.
-- reason: why it is held, refused or in attention. persons, distinct_ids, recordings: what was found when it was scoped.
-- events_expected_by: when the service's weekly batch should have run. box: who is erased, and what is searched for
-- afterwards, encrypted; null once the request is sealed.
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
) STRICT, WITHOUT ROWID;
CREATE INDEX erasure_requests_by_state ON erasure_requests (state);

-- What a request has to reach. status: how far; result and assurance: how it ended. rows: expected to be found.
-- confirmations, confirmed_at: how often the service said so. not_before: when it is worth the next attempt.
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
  PRIMARY KEY (request_id, target)
) STRICT, WITHOUT ROWID;

-- Who must not be mirrored again. mac: HMAC-SHA-256 of kind and value under a key that is not in this database.
-- hits: how often a row was kept out; recreated: of these, how often by somebody who was created after the erasure.
CREATE TABLE fence (
  kind TEXT NOT NULL CHECK (kind IN ('person_uuid', 'person_id', 'distinct_id', 'recording_id')),
  mac BLOB NOT NULL,
  request_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  fenced_at TEXT NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  recreated INTEGER NOT NULL DEFAULT 0,
  last_hit_at TEXT,
  PRIMARY KEY (kind, mac)
) STRICT, WITHOUT ROWID;
CREATE INDEX fence_by_request ON fence (request_id);

-- The feed of deletions now tells of erasures, and of the request that caused a row.
ALTER TABLE deletions RENAME TO deletions_before;
CREATE TABLE deletions (
  seq INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  key TEXT NOT NULL,
  person_uuid TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('deleted', 'merged', 'expired', 'erased')),
  deleted_at TEXT NOT NULL,
  request_id TEXT
) STRICT;
INSERT INTO deletions (seq, dataset, key, person_uuid, reason, deleted_at)
SELECT seq, dataset, key, iif(dataset = 'persons', key, NULL), reason, deleted_at FROM deletions_before;
DROP TABLE deletions_before;

-- Rows of a pass that the fence kept out.
ALTER TABLE passes ADD COLUMN rows_fenced INTEGER NOT NULL DEFAULT 0;
