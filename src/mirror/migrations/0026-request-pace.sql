-- What the service's answers 429 have taught those who use this mirror, as JSON: until when nobody asks, and which limit was learnt.
CREATE TABLE request_pace (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  pace TEXT NOT NULL CHECK (json_valid(pace))
) STRICT;
