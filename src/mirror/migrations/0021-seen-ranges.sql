-- The last pass that saw a row, by ranges of surrogate keys: most passes see rows in the order of their keys, and one range grows
-- with each page. Every key of a range is that of a row; no two ranges overlap, and those that touch are of different passes.
ALTER TABLE persons_seen RENAME TO persons_seen_rows;
CREATE TABLE persons_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;
INSERT INTO persons_seen SELECT min(row_key), max(row_key), pass_id FROM
  (SELECT row_key, pass_id, row_key - row_number() OVER (PARTITION BY pass_id ORDER BY row_key) AS run FROM persons_seen_rows)
  GROUP BY pass_id, run;
DROP TABLE persons_seen_rows;

ALTER TABLE recordings_seen RENAME TO recordings_seen_rows;
CREATE TABLE recordings_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;
INSERT INTO recordings_seen SELECT min(row_key), max(row_key), pass_id FROM
  (SELECT row_key, pass_id, row_key - row_number() OVER (PARTITION BY pass_id ORDER BY row_key) AS run FROM recordings_seen_rows)
  GROUP BY pass_id, run;
DROP TABLE recordings_seen_rows;

ALTER TABLE playlists_seen RENAME TO playlists_seen_rows;
CREATE TABLE playlists_seen (from_key INTEGER PRIMARY KEY, to_key INTEGER NOT NULL, pass_id INTEGER NOT NULL) STRICT;
INSERT INTO playlists_seen SELECT min(row_key), max(row_key), pass_id FROM
  (SELECT row_key, pass_id, row_key - row_number() OVER (PARTITION BY pass_id ORDER BY row_key) AS run FROM playlists_seen_rows)
  GROUP BY pass_id, run;
DROP TABLE playlists_seen_rows;
