-- The playlists whose entries a pass was not told, and why: a JSON array.
ALTER TABLE passes ADD COLUMN untold TEXT NOT NULL DEFAULT '[]';
-- How many rows the service was asked to delete, each by its id.
ALTER TABLE erasure_targets ADD COLUMN sent_rows INTEGER NOT NULL DEFAULT 0;
