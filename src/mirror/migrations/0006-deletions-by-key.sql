-- Whether a row left again later, without reading all that has left.
CREATE INDEX deletions_by_key ON deletions (dataset, key, deleted_at);
