-- What the runs of each job came to, so that old runs need not be kept to be counted.
CREATE TABLE run_totals (
  job TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'incomplete', 'failed', 'interrupted', 'held')),
  runs INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  last_end_at TEXT NOT NULL,
  PRIMARY KEY (job, outcome)
) STRICT, WITHOUT ROWID;
INSERT INTO run_totals (job, outcome, runs, requests, last_end_at)
  SELECT job, outcome, count(*), sum(requests), max(finished_at) FROM runs WHERE outcome IS NOT NULL GROUP BY job, outcome;
CREATE TRIGGER count_run AFTER UPDATE OF outcome ON runs WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
BEGIN
  INSERT INTO run_totals (job, outcome, runs, requests, last_end_at)
    VALUES (NEW.job, NEW.outcome, 1, NEW.requests, NEW.finished_at)
    ON CONFLICT (job, outcome) DO UPDATE SET runs = runs + 1, requests = requests + excluded.requests,
      last_end_at = max(last_end_at, excluded.last_end_at);
END;
CREATE INDEX runs_by_end ON runs (finished_at);
