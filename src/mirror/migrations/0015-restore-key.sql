-- The key under which the ledger has the MACs of the fence, encrypted under the key of the fence. One row, or none.
CREATE TABLE restore_key (encrypted BLOB NOT NULL) STRICT;
