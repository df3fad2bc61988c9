-- How a place stands to the folder: when both were last seen equal, since when it may be behind, and why (no personal data).
ALTER TABLE destinations ADD COLUMN equal_at TEXT;
ALTER TABLE destinations ADD COLUMN files INTEGER;
ALTER TABLE destinations ADD COLUMN behind_since TEXT;
ALTER TABLE destinations ADD COLUMN cause TEXT;
