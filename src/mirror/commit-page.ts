import type { Database } from 'better-sqlite3';
import { prepareSavePass, type PassDataset, type PassEvidence } from './passes.ts';
import { prepareWriteRows, type PageOutcome, type ShownRows } from './write-rows.ts';

/** What is saved of the pass with a page. */
type PassProgress = {
  /** So far. */
  evidence: PassEvidence;
  /** Where the pass goes on; null where it cannot. */
  cursor: string | null;
  /** What else belongs into the page's transaction; called last. A transaction of its own would write every page twice. */
  also?: () => void;
};

/** Commits a page. `judge` tells what is saved of the pass, given how many rows it had not seen before. */
export type CommitPage = <T extends PassProgress>(
  page: ShownRows,
  judge: (newRows: number) => T,
) => { outcome: PageOutcome; judged: T };

/**
 * Prepares the one transaction by which a page enters the mirror: its rows, its quarantined rows, the change feed,
 * the pass's evidence and its cursor, all or nothing.
 */
export function preparePageCommit(db: Database, dataset: PassDataset, passId: number): CommitPage {
  const writeRows = prepareWriteRows(db, dataset);
  const savePass = prepareSavePass(db, passId);
  return (page, judge) =>
    db
      .transaction(() => {
        const { outcome, newRows } = writeRows(page, passId);
        const judged = judge(newRows);
        savePass(judged.evidence, outcome, judged.cursor);
        judged.also?.();
        return { outcome, judged };
      })
      .immediate();
}
