-- The identifiers of a large person's box: some thousands each, encrypted as the box is. The box says how many parts it has.
CREATE TABLE box_parts (
  request_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  encrypted BLOB NOT NULL,
  PRIMARY KEY (request_id, part)
) STRICT;
