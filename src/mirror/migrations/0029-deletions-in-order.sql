-- A deletion has the number of the change that tells of it: one order for both feeds. A person that was merged names the one
-- it was merged into: an erasure of that one tells of both.
ALTER TABLE deletions ADD COLUMN merged_into TEXT;
CREATE INDEX deletions_by_person ON deletions (person_uuid) WHERE request_id IS NULL;
CREATE INDEX deletions_by_survivor ON deletions (merged_into) WHERE merged_into IS NOT NULL;
