-- Who waits for the lease, in the order of coming: runs that are about to begin, and passes that have given way in their midst.
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
