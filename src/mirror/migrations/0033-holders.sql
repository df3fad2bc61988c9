-- Of the person of a request: by when, by the service's clock, the first deletion was sent. And who else had a distinct id of the
-- person before that, by uuid: encrypted as in a box, until an operator has decided.
ALTER TABLE erasure_targets ADD COLUMN sent_by TEXT;
ALTER TABLE erasure_requests ADD COLUMN holders BLOB;
