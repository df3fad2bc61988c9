import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { listPublishedParts } from '../../snapshot/published-parts.ts';
import { placeOf, type PublishedFiles } from '../../snapshot/published-files.ts';
import { isPersonal } from '../../snapshot/subject-rows.ts';
import type { Subject } from '../request/box.ts';
import { scanner } from './run-scan.ts';
import type { ScanReport } from './scan-task.ts';

/** What a scan before or after a purge found of each subject, and what the ledger is to hold of it. */
export type SubjectScan<S extends Subject> = {
  found: { subject: S; hits: number; record: LedgerRecord }[];
  unreadable: ScanReport['unreadable'];
};

/**
 * Scans the data folder for subjects, as a control before a purge or to verify it after. `mustRead`: the places of the
 * published files that have to be read; a search has just found no subject in the others, and they are passed over. Null:
 * every file is read. Throws as `runScan` does.
 */
export async function scanForSubjects<S extends Subject>(
  { settings, published, signal }: Pick<JobContext, 'settings' | 'published' | 'signal'>,
  phase: 'control' | 'verify',
  subjects: readonly S[],
  mustRead: ReadonlySet<string> | null,
): Promise<SubjectScan<S>> {
  const { dataDir } = settings;
  const passedOver = mustRead ? listPersonalFiles(published).filter((place) => !mustRead.has(place)) : [];
  const report = await scanner.scan(
    {
      dataDir,
      phase,
      subjects: subjects.map(({ id, identity, values }) => ({ request: id, identity, values })),
      fence: false,
      extraPaths: [],
      passedOver,
    },
    { signal },
  );
  const found = subjects.map((subject) => {
    const one = report.subjects.find(({ request }) => request === subject.id);
    if (!one) throw new Error('a scan that left a subject out');
    const record: LedgerRecord = {
      type: 'scan',
      requests: [subject.id],
      phase,
      files: report.files,
      bytes: report.bytes,
      // Pieces that rows of others hold too prove nothing.
      needles: one.needles - one.shared,
      hits: one.hits,
      passed_over: passedOver.length,
      ...(subject.leftOut === undefined ? {} : { left_out: subject.leftOut }),
    };
    return { subject, hits: one.hits, record };
  });
  return { found, unreadable: report.unreadable };
}

/** The places of all published files, of every generation, that can hold a person. */
function listPersonalFiles(published: PublishedFiles): string[] {
  return listPublishedParts(published)
    .filter(({ dataset }) => isPersonal(dataset))
    .map(({ dataset, snapshotId, file }) => placeOf({ dataset, snapshotId, name: file.name }));
}
