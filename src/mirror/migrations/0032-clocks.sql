-- What the last answer that told the service's time has said of this machine's clock. `ahead_ms` is below 0 where the clock is behind.
-- `agreed_at` is the newest present at which both clocks agreed.
CREATE TABLE service_clock (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  looked_at TEXT NOT NULL,
  ahead_ms INTEGER NOT NULL,
  agreed_at TEXT
) STRICT;
-- When the life of a request began: at the first reconciliation in which both clocks agreed.
ALTER TABLE erasure_requests ADD COLUMN life_from TEXT;
-- When the wait of a target began.
ALTER TABLE erasure_targets ADD COLUMN wait_from TEXT;
-- How many rows left a dataset on a day by the service's own deletion, and without an approval.
CREATE TABLE departures (
  dataset TEXT NOT NULL CHECK (dataset IN ('persons', 'recordings')),
  day TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (dataset, day)
) STRICT, WITHOUT ROWID;
