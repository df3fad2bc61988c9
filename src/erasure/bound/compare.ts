import { AppError } from '../../core/errors.ts';
import { keyCheck } from '../../core/secret-key.ts';
import type { JobContext } from '../../job/job-context.ts';
import { boundKeys, type BoundPart } from '../../ledger/vocabulary.ts';
import { boundKeyNames, findDifferences, type Difference } from './differences.ts';

/** The code of a run that found differences. */
export const stateDiffers = 'state_differs';

/** Holds the folder against the ledger, once what a kill had left open is recorded. Records what differs. */
export async function compareWithLedger(context: JobContext): Promise<Difference[]> {
  const { db, published, settings } = context;
  const ledger = context.ledger();
  recoverPublications(context);
  const differences = await findDifferences({
    db,
    published,
    dataDir: settings.dataDir,
    ledger,
    onRead: (snapshot) => published.noteWhole(snapshot),
  });
  const { differing } = ledger.bound;
  ledger.append(
    countParts(differences).flatMap(([part, items]) =>
      // Said once, however often it is found.
      differing.get(part) === items ? [] : [{ type: 'differs', part, items } as const],
    ),
  );
  return differences;
}

/** How many differences each part has. */
export function countParts(differences: readonly Difference[]): [part: BoundPart, items: number][] {
  return [...Map.groupBy(differences, ({ part }) => part)].map(([part, { length }]) => [part, length]);
}

/** After a kill, records whether the manifests that were about to stand do; others than these two are left alone. */
function recoverPublications({ published, ledger: openLedger }: Pick<JobContext, 'published' | 'ledger'>): void {
  const ledger = openLedger();
  const snapshots = [...ledger.bound.publications.all()].flatMap(({ dataset, snapshotId, stands, intended }) => {
    if (intended === undefined) return [];
    const manifest = published.digestOfManifest({ dataset, snapshotId });
    return manifest === intended || manifest === stands ? [{ dataset, snapshot_id: snapshotId, manifest }] : [];
  });
  if (snapshots.length > 0) ledger.append([{ type: 'published', cause: 'recovery', snapshots }]);
}

/** Records the check values of keys that were made since. */
export function bindKeys({ settings: { dataDir }, ledger: openLedger }: Pick<JobContext, 'settings' | 'ledger'>): void {
  const ledger = openLedger();
  for (const key of boundKeys) {
    const check = keyCheck(dataDir, boundKeyNames[key]);
    if (check !== undefined && !ledger.bound.keys.has(key)) ledger.append([{ type: 'key_bound', key, check }]);
  }
}

/** The error for differences: it names the first, and what to do. */
export function differenceError([first, ...more]: readonly Difference[]): AppError {
  return new AppError(`${first?.sentence ?? ''}${more.length > 0 ? `, and ${more.length} more` : ''}`, {
    code: 'storage',
    finding: stateDiffers,
    hint:
      first?.remedy ??
      'run `analytics-mirror reconcile`: it takes every erased person out again, and records it on the ledger',
  });
}
