import { publishedDatasets } from '../../contract/datasets.ts';
import { AppError } from '../../core/errors.ts';
import { keyCheck } from '../../core/secret-key.ts';
import { stateText } from '../../ledger/vocabulary-words.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { BoundKey, BoundPart } from '../../ledger/vocabulary.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { Database } from '../../mirror/database.ts';
import { hasBoxes, listRequests } from '../../mirror/erasure-requests.ts';
import { boxKeyName, fenceDigests, fenceKeyName } from '../../mirror/fence.ts';
import { manifestName } from '../../snapshot/file-names.ts';
import { placeOf, type PublishedFiles } from '../../snapshot/published-files.ts';
import { isAsRecorded, recordedStage } from './request-stage.ts';

/** A thing on disk or in the mirror that is not as the ledger says, in one sentence. `id`: the request or the snapshot. */
export type Difference = { part: BoundPart; id: string; sentence: string };

/** What is held against the ledger; `db` is null where there is no mirror. */
type BoundParts = { db: Database | null; published: PublishedFiles; dataDir: string; ledger: LedgerReader };

/** The code of a run that found differences. */
export const stateDiffers = 'state_differs';

const keyNames: Readonly<Record<BoundKey, string>> = { fence: fenceKeyName, box: boxKeyName };

/**
 * Holds keys, suppression list, requests and published snapshots against the ledger. Reads the manifests, not the parts, whose
 * digests stand in the manifests. Changes nothing.
 */
export function findDifferences(parts: BoundParts): Difference[] {
  const { db } = parts;
  return [
    ...keyDifferences(parts),
    ...(db ? [...fenceDifferences(db, parts.ledger), ...requestDifferences(db, parts.ledger)] : []),
    ...snapshotDifferences(parts),
  ];
}

/** The error for differences: it names the first, and what to do. */
export function differenceError(differences: readonly Difference[]): AppError {
  const [first] = differences;
  const more = differences.length > 1 ? `, and ${differences.length - 1} more` : '';
  return new AppError(`${first?.sentence ?? ''}${more}`, {
    code: 'storage',
    finding: stateDiffers,
    hint: fixOf(first),
  });
}

function fixOf(first: Difference | undefined): string {
  return first?.part === 'fence_key' || first?.part === 'box_key'
    ? 'restore keys/ from the backup that belongs to this ledger; nothing is mirrored or published until then'
    : 'run `analytics-mirror reconcile`: it takes every erased person out again, and records it on the ledger';
}

/** After a kill, records whether the manifests that were about to stand do; others than these two are left alone. */
export function recoverPublications({ published, ledger: openLedger }: Pick<JobContext, 'published' | 'ledger'>): void {
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
  for (const key of ['fence', 'box'] as const) {
    const check = keyCheck(dataDir, keyNames[key]);
    if (check !== undefined && !ledger.bound.keys.has(key)) ledger.append([{ type: 'key_bound', key, check }]);
  }
}

/** Records how many differences there are of each part, unless the ledger says so already. */
export function recordDifferences(
  { ledger: openLedger }: Pick<JobContext, 'ledger'>,
  found: readonly Difference[],
): void {
  const ledger = openLedger();
  const items = Map.groupBy(found, ({ part }) => part);
  ledger.append(
    [...items].flatMap(([part, { length }]) =>
      ledger.bound.differing.get(part) === length ? [] : [{ type: 'differs', part, items: length } as const],
    ),
  );
}

/** The manifests on disk, as the ledger records them. */
export function listStandingManifests(
  published: PublishedFiles,
): Extract<LedgerRecord, { type: 'published' }>['snapshots'] {
  return publishedDatasets.flatMap((dataset) =>
    published
      .listSnapshots(dataset)
      .flatMap(({ id: snapshotId, hasManifest }) =>
        hasManifest
          ? [{ dataset, snapshot_id: snapshotId, manifest: published.digestOfManifest({ dataset, snapshotId }) }]
          : [],
      ),
  );
}

function keyDifferences({ db, dataDir, ledger }: BoundParts): Difference[] {
  const { keys, fences } = ledger.bound;
  return [...keys].flatMap(([key, recorded]): Difference[] => {
    const isNeeded = key === 'fence' ? fences.size > 0 : db === null || hasBoxes(db);
    const check = isNeeded ? keyCheck(dataDir, keyNames[key]) : recorded;
    if (check === recorded) return [];
    const what = check === undefined ? 'is missing' : 'is another key than the one of this ledger';
    return [{ part: `${key}_key`, id: key, sentence: `keys/${keyNames[key]} ${what}` }];
  });
}

function fenceDifferences(db: Database, { bound: { fences, begunFences } }: LedgerReader): Difference[] {
  const standing = fenceDigests(db);
  return [...new Set([...fences.keys(), ...standing.keys()])].flatMap((id): Difference[] => {
    const digest = standing.get(id);
    if (digest === fences.get(id) || (digest !== undefined && digest === begunFences.get(id))) return [];
    return [
      {
        part: 'fence',
        id,
        sentence: `mirror.db, table fence: its entries of request ${id} are not those that the ledger has`,
      },
    ];
  });
}

function requestDifferences(db: Database, { histories, bound }: LedgerReader): Difference[] {
  const requests = listRequests(db, 'all');
  const known = new Set(requests.map(({ id }) => id));
  const place = 'mirror.db, table erasure_requests: request';
  return [
    ...requests.flatMap((request): Difference[] => {
      const { id } = request;
      const history = histories.of(id);
      if (isAsRecorded(request, history, bound.begunFences.has(id))) return [];
      const recorded = history ? `the ledger says ${stateText(history.state)}` : 'the ledger does not have it';
      return [{ part: 'requests', id, sentence: `${place} ${id} is ${stateText(request.state)}; ${recorded}` }];
    }),
    ...[...histories.all()].flatMap((history): Difference[] => {
      const { request: id } = history;
      const isOpen = ['fenced', 'verified', 'certified'].includes(recordedStage(history));
      if (known.has(id) || !isOpen) return [];
      return [
        { part: 'requests', id, sentence: `${place} ${id} is missing; the ledger says ${stateText(history.state)}` },
      ];
    }),
  ];
}

function snapshotDifferences({ published, ledger: { bound } }: BoundParts): Difference[] {
  const { publications } = bound;
  if (!publications.isBegun()) return [];
  const found = listStandingManifests(published).map(({ dataset, snapshot_id: id }) => `${dataset}/${id}`);
  const recorded = [...publications.all()].map(({ dataset, snapshotId }) => `${dataset}/${snapshotId}`);
  return [...new Set([...found, ...recorded])].flatMap((id): Difference[] => {
    const [dataset = '', snapshotId = ''] = id.split('/');
    const digest = published.digestOfManifest({ dataset, snapshotId });
    const { stands = null, intended } = publications.of(dataset, snapshotId) ?? {};
    if (digest === stands || digest === intended) return [];
    const what =
      digest === null
        ? 'is missing'
        : stands === null
          ? 'is not on the ledger: it was retired, or comes from another folder'
          : 'is another one than the ledger has: an older copy was put back, or it was changed';
    return [{ part: 'snapshots', id, sentence: `${placeOf({ dataset, snapshotId, name: manifestName })} ${what}` }];
  });
}
