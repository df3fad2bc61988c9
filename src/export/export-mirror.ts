import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { isMirrored, publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import {
  aboveAllNumbers,
  hasChange,
  hasChangeWithin,
  newestNumber,
  noteFeedPublished,
  renumberFeeds,
  skipNumber,
} from '../mirror/feeds.ts';
import type { Database } from '../mirror/database.ts';
import { hasNumberedFields } from '../mirror/field-ids.ts';
import { readEpoch, whileEpoch } from '../mirror/fence.ts';
import { fenceDigest } from '../mirror/fence-entries.ts';
import { agreedMs, readServiceClock } from '../mirror/service-clock.ts';
import { atOneMoment, withSnapshotSource } from '../mirror/snapshot-source.ts';
import { currentIds, type Manifest } from '../snapshot/manifest.ts';
import { stageDataset, type StagedSnapshot } from './export-dataset.ts';
import { fenceOf, findUnchanged, isMadeAlike } from './find-unchanged.ts';
import type { ExportContext, MirrorExport, MirrorExportTask } from './mirror-export.ts';
import { numberColumns } from './number-columns.ts';
import { publicationOf } from './promote-and-mask.ts';
import { promotedColumns } from './promotion.ts';
import { publishTogether } from './publish-together.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { readIfSound } from '../snapshot/published-parts.ts';
import { isTableAsWanted, tableLocation } from './table-location.ts';

/** The snapshot that a delta goes on from, and the newest change that this snapshot shows. */
type DeltaBase = { snapshotId: string; changes: NonNullable<Manifest['changes']> };

const triesMax = 3;
const dayMs = 86_400_000;

/**
 * Publishes one moment of the mirror, all datasets at once; again if a person was erased then. Publishes nothing of a dataset
 * of which nothing has changed. Throws as `stageDataset`, and `busy`.
 */
export async function exportMirror(context: ExportContext, task: MirrorExportTask): Promise<MirrorExport[]> {
  passPublishedNumbers(context);
  passOtherValues(context, task);
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const results = await atOneMoment(task.source, () => exportMoment(context, task));
    if (results !== 'outdated') return results;
  }
  throw new AppError(`people were erased during ${triesMax} exports of ${task.datasets.join(', ')} in a row`, {
    code: 'busy',
    hint: 'export again when no erasure runs',
    retryable: true,
  });
}

/**
 * Where the mirror lacks the newest change that is published, it is an older copy: it has given numbers again that readers know,
 * or will. So it may be where nothing is published any more. Then all of its changes and deletions get numbers above the published
 * ones.
 */
function passPublishedNumbers({ db, published, clock }: ExportContext): void {
  const [newest] = publishedDatasets
    .flatMap((dataset) => newestOf(published, dataset) ?? [])
    .toSorted((a, b) => b.seq - a.seq);
  if (!hasAll(db, newest)) renumberFeeds(db, Math.max(aboveAllNumbers(db, clock.now()), newest?.seq ?? 0));
}

/** The newest snapshot of a dataset; undefined where none is published, or it cannot be read. */
function newestOf(published: PublishedFiles, dataset: PublishedDataset): Manifest | undefined {
  const [snapshotId] = currentIds(published.readCurrent(), dataset).slice(-1);
  return snapshotId === undefined ? undefined : readIfSound(published, { dataset, snapshotId });
}

/** Whether the mirror has all changes and numbers up to the newest that are published; where none are, whether it has published none. */
function hasAll(db: Database, newest: Manifest | undefined): boolean {
  if (!newest) return !hasNumberedFields(db);
  const { seq, changes } = newest;
  // What an older copy lacks may be a number that was left out: its next change has been given that one.
  return (
    seq <= newestNumber(db) && !hasChangeWithin(db, changes?.seq ?? 0, seq) && (!changes || hasChange(db, changes))
  );
}

/**
 * The published lists of which the mirror, an older copy, lacks the newest published change: `deletions` with new numbers would take
 * rows from them that have come back before.
 */
export function listsOfOtherNumbers({ db, published }: Pick<ExportContext, 'db' | 'published'>): PublishedDataset[] {
  return publishedDatasets.filter((dataset) => {
    const newest = newestOf(published, dataset);
    return isMirrored(dataset) && newest !== undefined && !hasAll(db, newest);
  });
}

/**
 * Where rows are published otherwise than before, without a change of theirs, they get a greater number than they had: who takes what is
 * newer takes what is masked now.
 */
function passOtherValues(context: ExportContext, { datasets }: MirrorExportTask): void {
  const isOther = datasets.filter(isMirrored).some((dataset) => {
    const newest = newestOf(context.published, dataset);
    return newest !== undefined && !isMadeAlike(context, dataset, newest);
  });
  if (isOther) skipNumber(context.db);
}

async function exportMoment(context: ExportContext, task: MirrorExportTask): Promise<MirrorExport[] | 'outdated'> {
  const { db, published, settings } = context;
  const erasureEpoch = readEpoch(task.source);
  const unchangedOnes = new Map<string, MirrorExport>();
  async function* staging(): AsyncGenerator<StagedSnapshot, void> {
    let deletions: string | undefined;
    // First: deltas name the snapshot of `deletions` that belongs to them.
    for (const dataset of task.datasets.toSorted((a, b) => Number(b === 'deletions') - Number(a === 'deletions'))) {
      const unchanged = await findUnchanged(context, task, dataset);
      if (unchanged) unchangedOnes.set(dataset, unchanged);
      const staged = unchanged ? undefined : await stageFromMirror(context, task, dataset, deletions);
      if (dataset === 'deletions') deletions = (unchanged ?? staged?.result)?.snapshotId;
      if (staged) yield staged;
    }
  }
  const done = await publishTogether(
    { published, keep: settings.export.keep, publishing: (publish) => whileEpoch(db, erasureEpoch, publish) },
    staging(),
  );
  if (done === 'refused') return 'outdated';
  const staged = new Map(done.map((one) => [one.finished.manifest.dataset, one]));
  return task.datasets.flatMap((dataset) => {
    const one = staged.get(dataset);
    if (!one) return unchangedOnes.get(dataset) ?? [];
    const verdict = one.finished.manifest.pass?.verdict ?? null;
    return { dataset, verdict, unchangedSince: null, removed: one.removed, ...one.result };
  });
}

/**
 * Notes up to where the feed of deletions is published: call it once everywhere has what the folder has. A clock that was set back, or is
 * behind the service's, does not make it older than it is.
 */
export function noteFeed({ db, published, clock }: Pick<ExportContext, 'db' | 'published' | 'clock'>): void {
  const [snapshotId] = currentIds(published.readCurrent(), 'deletions');
  if (snapshotId === undefined) return;
  const nowMs = clock.now();
  const atMs = Math.max(nowMs, nowMs - (readServiceClock(db)?.aheadMs ?? 0), agreedMs(db));
  noteFeedPublished(db, published.readManifest({ dataset: 'deletions', snapshotId }).seq, isoTime(atMs));
}

/** Throws `usage` where what `export.promote` names cannot all be columns. Makes no key. */
export function refusePromotion({ promote, mask }: ExportContext['settings']['export']): void {
  const isHashed = (property: string): boolean =>
    !mask.includes(property) && mask.some((one) => typeof one !== 'string' && one.property === property);
  promotedColumns(promote, {}, (property) => (isHashed(property) ? '' : undefined));
}

function stageFromMirror(
  context: ExportContext,
  { source: connection, kind, onProgress }: MirrorExportTask,
  dataset: PublishedDataset,
  deletions: string | undefined,
): Promise<StagedSnapshot> {
  const { published, settings, clock, signal } = context;
  const location = tableLocation(context, dataset);
  const base = kind === 'delta' && deletions !== undefined ? findDeltaBase(context, dataset) : undefined;
  const exporting = { ...settings.export, dataDir: settings.dataDir };
  const { publishTexts } = publicationOf(dataset, exporting);
  const fence = dataset === 'fence' ? fenceOf(context, connection) : undefined;
  const reading = { since: base?.changes ?? null, textsOfPart: publishTexts ? settings.export.partRows : null, fence };
  return withSnapshotSource(connection, dataset, reading, (source) =>
    stageDataset({
      ...source,
      published,
      dataset,
      settings: exporting,
      numbering: (columns) => numberColumns(context, dataset, columns),
      fence: fence && fenceDigest(fence),
      table: location === null ? null : { location, gone: source.gone },
      continues:
        source.kind === 'delta' && base && deletions !== undefined
          ? { basedOn: base.snapshotId, deletions }
          : undefined,
      clock,
      signal,
      onProgress: (rows) => onProgress(dataset, rows, source.rowCount),
    }),
  );
}

/**
 * The snapshot that a delta of a dataset can go on from now. Undefined where a full snapshot has to be published: nothing is
 * published yet, or there are `export.deltasMax` deltas already; the full snapshot is older than half the time that rows stay
 * in the feed of deletions, which need not keep them for deltas then; columns or values are made otherwise now; a part is gone; or
 * the table is not as wanted. Throws
 * `storage` when CURRENT or a manifest is damaged.
 */
function findDeltaBase(context: ExportContext, dataset: PublishedDataset): DeltaBase | undefined {
  const { published, settings, clock } = context;
  const { deltasMax } = settings.export;
  const [fullId, ...deltaIds] = currentIds(published.readCurrent(), dataset);
  if (fullId === undefined || deltaIds.length >= deltasMax || !isMirrored(dataset)) return undefined;
  if (!isTableAsWanted(context, dataset)) return undefined;
  const full = published.readManifest({ dataset, snapshotId: fullId });
  const oldestMs = clock.now() - (settings.erasure.feedRetentionDays / 2) * dayMs;
  if (Date.parse(full.created_at) < oldestMs) return undefined;
  const snapshotId = deltaIds.at(-1) ?? fullId;
  const newest = published.readManifest({ dataset, snapshotId });
  // Readers of a delta read all that it goes on from.
  const isWhole = [fullId, ...deltaIds].every((id) => {
    const { files } = published.readManifest({ dataset, snapshotId: id });
    return files.every(({ name, bytes }) => published.sizeOf({ dataset, snapshotId: id }, name) === bytes);
  });
  if (!isWhole) return undefined;
  return newest.changes && isMadeAlike(context, dataset, newest) ? { snapshotId, changes: newest.changes } : undefined;
}
