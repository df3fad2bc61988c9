-- What the worker needs to run for months.

-- The number of times that the lease was taken: whoever holds it writes only as long as the number is the one it got.
CREATE TABLE lease_token (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  token INTEGER NOT NULL
) STRICT;
INSERT INTO lease_token (only_row, token) VALUES (1, 0);

-- The last runs of one job, newest first, among those of years.
CREATE INDEX runs_by_job ON runs (job, id);
