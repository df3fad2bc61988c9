import type { MirroredDataset } from '../../src/contract/datasets.ts';
import type { Database } from '../../src/mirror/database.ts';
import { noEvidence, prepareSavePass, type PassEvidence } from '../../src/mirror/passes.ts';
import { prepareWriteRows, type PageOutcome, type ShownRows } from '../../src/mirror/write-rows.ts';

/** Prepares what commits a page of a pass as a sync does: its rows and the pass, all or nothing. */
export function preparePageCommit(
  db: Database,
  dataset: MirroredDataset,
  passId: number,
): (page: ShownRows, evidence?: PassEvidence, cursor?: string | null) => PageOutcome {
  const writeRows = prepareWriteRows(db, dataset);
  const savePass = prepareSavePass(db, passId);
  return (page, evidence = noEvidence, cursor = null) =>
    db
      .transaction(() => {
        const { outcome } = writeRows(page, passId);
        savePass(evidence, outcome, cursor);
        return outcome;
      })
      .immediate();
}
