-- One more reason why a pass is incomplete: more rows could not be read than the quarantine keeps.
CREATE TABLE passes_new (
  id INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings', 'playlists')),
  mode TEXT NOT NULL CHECK (mode IN ('full', 'head')),
  plan TEXT NOT NULL,
  verdict TEXT CHECK (verdict IN ('complete', 'incomplete')),
  reason TEXT CHECK (reason IN ('head', 'seam_not_joined', 'order_unstable', 'windows_limit', 'superseded', 'not_found',
    'no_progress', 'count_not_reached', 'too_many_unreadable')),
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
  CHECK ((verdict IS NULL) = (finished_at IS NULL))
) STRICT;

INSERT INTO passes_new (id, dataset, mode, plan, verdict, reason, started_at, finished_at, windows, seams, step_backs, restarts,
  rounds, rows_received, rows_added, rows_changed, rows_quarantined, count_reported, is_ordered, cursor, rows_fenced,
  rows_distinct, is_default_window)
SELECT id, dataset, mode, plan, verdict, reason, started_at, finished_at, windows, seams, step_backs, restarts,
  rounds, rows_received, rows_added, rows_changed, rows_quarantined, count_reported, is_ordered, cursor, rows_fenced,
  rows_distinct, is_default_window
FROM passes;

DROP TABLE passes;
ALTER TABLE passes_new RENAME TO passes;
