-- The days of the mirror, for charts: how many rows each list had after its last pass of the day; how many rows were new,
-- changed or gone; how many erasure requests came and were complete. Days are UTC.
CREATE TABLE history (
  day TEXT NOT NULL,
  series TEXT NOT NULL CHECK (series IN ('persons', 'recordings', 'playlists', 'new', 'changed', 'gone', 'received', 'complete')),
  value INTEGER NOT NULL,
  PRIMARY KEY (day, series)
) STRICT, WITHOUT ROWID;

INSERT INTO history SELECT substr(finished_at, 1, 10), 'new', sum(rows_added) FROM passes
  WHERE finished_at IS NOT NULL GROUP BY 1;
INSERT INTO history SELECT substr(finished_at, 1, 10), 'changed', sum(rows_changed) FROM passes
  WHERE finished_at IS NOT NULL GROUP BY 1;
INSERT INTO history SELECT substr(deleted_at, 1, 10), 'gone', count(*) FROM deletions GROUP BY 1;
INSERT INTO history SELECT substr(received_at, 1, 10), 'received', count(*) FROM erasure_requests GROUP BY 1;
INSERT INTO history SELECT substr(certified_at, 1, 10), 'complete', count(*) FROM erasure_requests
  WHERE certified_at IS NOT NULL GROUP BY 1;

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
CREATE TRIGGER history_of_deletion AFTER INSERT ON deletions
BEGIN
  INSERT INTO history VALUES (substr(NEW.deleted_at, 1, 10), 'gone', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER history_of_receipt AFTER INSERT ON erasure_requests
BEGIN
  INSERT INTO history VALUES (substr(NEW.received_at, 1, 10), 'received', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER history_of_completion AFTER UPDATE OF certified_at ON erasure_requests
  WHEN OLD.certified_at IS NULL AND NEW.certified_at IS NOT NULL
BEGIN
  INSERT INTO history VALUES (substr(NEW.certified_at, 1, 10), 'complete', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
