-- Requests that are open again, and what an open request waits for.
-- reopened_at: since when a request whose identifiers were destroyed is open again. listed_again_at: when a page showed the
-- person again after the service had said that the person is gone; listed_again: the identifiers of that row, encrypted as
-- in a box, until the next reconciliation. waits_for, waits_since: why an open request cannot go on by itself, and since when.
-- searched_files: how many published files were searched before the request was refused. erased_by: the earlier request that
-- erased the same person.
ALTER TABLE erasure_requests ADD COLUMN reopened_at TEXT;
ALTER TABLE erasure_requests ADD COLUMN listed_again_at TEXT;
ALTER TABLE erasure_requests ADD COLUMN listed_again BLOB;
ALTER TABLE erasure_requests ADD COLUMN waits_for TEXT;
ALTER TABLE erasure_requests ADD COLUMN waits_since TEXT;
ALTER TABLE erasure_requests ADD COLUMN searched_files INTEGER;
ALTER TABLE erasure_requests ADD COLUMN erased_by TEXT;
