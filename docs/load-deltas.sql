-- Makes the present tables from a full snapshot and the deltas that follow it (DuckDB).
--
-- snapshots/CURRENT.json names the full snapshot of a dataset and its deltas, and each manifest.json the parts:
--   SET VARIABLE persons = ['snapshots/persons/20261120T040000.000Z/part-00001.parquet', …];
--   SET VARIABLE recordings = […];  SET VARIABLE deletions = […];
--
-- The newest version of each row counts. Snapshots sort by their ids, which are times. Rows that have left are in no delta:
-- `deletions` names them for `erasure.feedRetentionDays`, so load no full snapshot that is older. A row that came back has a
-- `changed_at` later than its `deleted_at`; both times are from the clock of the mirror.

CREATE OR REPLACE TABLE persons AS
SELECT * EXCLUDE (filename)
FROM read_parquet(getvariable('persons'), filename = true) AS version
WHERE NOT EXISTS (
  FROM read_parquet(getvariable('deletions')) AS gone
  WHERE gone.dataset = 'persons' AND gone.key = version.person_uuid AND gone.deleted_at >= version.changed_at
)
QUALIFY row_number() OVER (PARTITION BY person_uuid ORDER BY filename DESC) = 1;

CREATE OR REPLACE TABLE recordings AS
SELECT * EXCLUDE (filename)
FROM read_parquet(getvariable('recordings'), filename = true) AS version
WHERE NOT EXISTS (
  FROM read_parquet(getvariable('deletions')) AS gone
  WHERE gone.dataset = 'recordings' AND gone.key = version.id AND gone.deleted_at >= version.changed_at
)
QUALIFY row_number() OVER (PARTITION BY id ORDER BY filename DESC) = 1;
