-- One more reason why a pass is incomplete: more rows are of one moment than a window holds. Its trigger is made again, as it was.
CREATE TABLE passes_new (
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
  CHECK ((verdict IS NULL) = (finished_at IS NULL))
) STRICT;

INSERT INTO passes_new (id, dataset, mode, plan, verdict, reason, started_at, finished_at, windows, seams, step_backs, restarts,
  rounds, rows_received, rows_added, rows_changed, rows_quarantined, count_reported, is_ordered, cursor, rows_fenced,
  rows_distinct, is_default_window, untold)
SELECT id, dataset, mode, plan, verdict, reason, started_at, finished_at, windows, seams, step_backs, restarts,
  rounds, rows_received, rows_added, rows_changed, rows_quarantined, count_reported, is_ordered, cursor, rows_fenced,
  rows_distinct, is_default_window, untold
FROM passes;

DROP TABLE passes;
ALTER TABLE passes_new RENAME TO passes;
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
