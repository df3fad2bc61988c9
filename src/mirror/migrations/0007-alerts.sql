-- The alerts that the worker has told of as begun, and not yet as ended: what a restarted one is to compare with.
-- Kinds and jobs are those of the program's settings; `job` is null for what is about the whole project.
CREATE TABLE open_alerts (
  kind TEXT NOT NULL,
  job TEXT,
  message TEXT NOT NULL,
  todo TEXT NOT NULL
) STRICT;
