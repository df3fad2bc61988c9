CREATE TABLE published_fields (
  dataset TEXT NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  element_id INTEGER,
  is_retired INTEGER NOT NULL DEFAULT 0 CHECK (is_retired IN (0, 1)),
  PRIMARY KEY (dataset, id)
) STRICT, WITHOUT ROWID;
