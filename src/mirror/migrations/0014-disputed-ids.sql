-- A distinct id that one pass shows with two persons stays with the person shown last. shown_pass: the pass that last showed
-- the loser with the id; null when the loser was last shown without it.
ALTER TABLE distinct_ids_lost ADD COLUMN shown_pass INTEGER;
CREATE INDEX distinct_ids_disputed ON distinct_ids_lost (distinct_id, shown_pass) WHERE shown_pass IS NOT NULL;
