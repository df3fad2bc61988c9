-- stays_out: why a row that was taken for deleted at the service, and that the service lists again, stays out; null where it was
-- not asked for yet.
ALTER TABLE erasure_requests ADD COLUMN stays_out TEXT CHECK (stays_out IN ('not_found', 'not_answered', 'still_open'));
