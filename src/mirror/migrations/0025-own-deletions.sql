-- Of the events of a request: after which time, by the service's clock, a row of its queue can be the request's own; and how many
-- persons were sent for deletion.
ALTER TABLE erasure_targets ADD COLUMN own_after TEXT;
ALTER TABLE erasure_targets ADD COLUMN persons_sent INTEGER;
