-- The same two numbers for what was deleted from the tables of erasure requests: those are small, and purged by themselves.
ALTER TABLE purge_owed ADD COLUMN requests_marked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE purge_owed ADD COLUMN requests_purged INTEGER NOT NULL DEFAULT 0;
