-- Where published files were ever put, beside the folder. A place leaves the table when it was seen to hold none of them.
CREATE TABLE destinations (
  location TEXT PRIMARY KEY,
  -- How it is reached, as JSON: endpoint, region, forcePathStyle.
  reached_by TEXT NOT NULL,
  followed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
