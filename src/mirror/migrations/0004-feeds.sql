-- A number of the feeds is never given twice, also when the newest rows have left: who reads on from it would miss some.
ALTER TABLE deletions RENAME TO deletions_before;
CREATE TABLE deletions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  key TEXT NOT NULL,
  person_uuid TEXT,
  reason TEXT NOT NULL CHECK (reason IN ('deleted', 'merged', 'expired', 'erased')),
  deleted_at TEXT NOT NULL,
  request_id TEXT
) STRICT;
INSERT INTO deletions (seq, dataset, key, person_uuid, reason, deleted_at, request_id)
SELECT seq, dataset, key, person_uuid, reason, deleted_at, request_id FROM deletions_before;
DROP TABLE deletions_before;

ALTER TABLE changes RENAME TO changes_before;
CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('upsert', 'delete')),
  at TEXT NOT NULL
) STRICT;
INSERT INTO changes (seq, dataset, key, op, at) SELECT seq, dataset, key, op, at FROM changes_before;
DROP TABLE changes_before;
