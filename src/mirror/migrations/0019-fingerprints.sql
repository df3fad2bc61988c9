-- Fingerprints of rows as they were shown: a row that is shown by the same bytes again is the row that is stored.
-- block: 128 surrogate keys in a row. prints: 28 bytes for each of them, zeros where there is none (SHA-256 of the bytes, cut
-- to 16; their length; the time that the row is sorted by). A fingerprint is written in the transaction that wrote its row, and
-- only where what is stored is what was shown.
CREATE TABLE persons_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;
CREATE TABLE recordings_shown (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;

-- Which reader has written them: another version, other columns or another depth of JSON could read the same bytes otherwise.
CREATE TABLE shown_reader (dataset TEXT PRIMARY KEY, reader TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Whatever else changes or removes a row drops its block.
CREATE TRIGGER persons_shown_changed AFTER UPDATE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;
CREATE TRIGGER persons_shown_removed AFTER DELETE ON persons
BEGIN DELETE FROM persons_shown WHERE block = OLD.row_key >> 7; END;
CREATE TRIGGER recordings_shown_changed AFTER UPDATE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;
CREATE TRIGGER recordings_shown_removed AFTER DELETE ON recordings
BEGIN DELETE FROM recordings_shown WHERE block = OLD.row_key >> 7; END;

-- When the fence grows, or is brought in line with the ledger in a restored copy, every row is compared again.
CREATE TRIGGER shown_before_fence AFTER UPDATE ON erasure_epoch
BEGIN DELETE FROM persons_shown; DELETE FROM recordings_shown; END;
