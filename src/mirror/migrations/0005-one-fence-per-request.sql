-- Whoever is erased by two requests is fenced by both: lifting the fence of one leaves that of the other.
ALTER TABLE fence RENAME TO fence_before;
CREATE TABLE fence (
  kind TEXT NOT NULL CHECK (kind IN ('person_uuid', 'person_id', 'distinct_id', 'recording_id')),
  mac BLOB NOT NULL,
  request_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  fenced_at TEXT NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  recreated INTEGER NOT NULL DEFAULT 0,
  last_hit_at TEXT,
  PRIMARY KEY (kind, mac, request_id)
) STRICT, WITHOUT ROWID;
INSERT INTO fence (kind, mac, request_id, epoch, fenced_at, hits, recreated, last_hit_at)
SELECT kind, mac, request_id, epoch, fenced_at, hits, recreated, last_hit_at FROM fence_before;
DROP TABLE fence_before;
CREATE INDEX fence_by_request ON fence (request_id);

-- Whether the file may still hold what was deleted. marked: how often something was deleted that has to be unreadable;
-- purged: how often when the last purge that was done began. Of a mirror that has erased anybody, nobody knows.
CREATE TABLE purge_owed (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  marked INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
INSERT INTO purge_owed (only_row, marked, purged) VALUES (1, EXISTS (SELECT 1 FROM erasure_requests), 0);

-- Of `upstream.person`. seen_at: when the service showed the person, if it did when it was last asked.
-- sent_created_at: when the newest of those who were sent for deletion was created, by the service's clock.
ALTER TABLE erasure_targets ADD COLUMN seen_at TEXT;
ALTER TABLE erasure_targets ADD COLUMN sent_created_at TEXT;
