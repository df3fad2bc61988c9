-- Who comes after an erasure is told by what was known when its fence rose, and by no clock of this machine. seen_pass: no row
-- that was added since has a first_seen_pass up to it; null where no pass over the persons had been complete by then.
-- served_at: the service's own time then; null where it had not told any.
ALTER TABLE fence ADD COLUMN seen_pass INTEGER;
ALTER TABLE fence ADD COLUMN served_at TEXT;

-- The pass that had first seen a row that has left.
ALTER TABLE deletions ADD COLUMN first_seen_pass INTEGER;

-- Of the rows of a pass that hold a fenced distinct id. rows_came_after: kept out, since their person came after the erasure.
-- rows_trimmed: let in without what is fenced.
ALTER TABLE passes ADD COLUMN rows_came_after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passes ADD COLUMN rows_trimmed INTEGER NOT NULL DEFAULT 0;
