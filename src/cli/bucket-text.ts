import type { CatalogReport } from '../bucket/catalog.ts';
import { lastEnd } from '../bucket/follow-plan.ts';
import type { BucketPlan, BucketReport } from '../bucket/keep.ts';
import { AppError } from '../core/errors.ts';
import { countedText, minuteText, secondText } from '../core/words.ts';
import type { DestinationStanding } from '../mirror/destinations.ts';
import { presentError } from './errors.ts';

/** Whether a bucket follows, in words. */
export function standingText({ location, equalAt, files, behindSince, cause }: DestinationStanding): string {
  const last = equalAt === null ? 'never seen equal' : `last seen equal ${secondText(equalAt)}`;
  if (behindSince === null) return `${location} follows: ${countedText(files ?? 0, 'file')}, ${last}\n`;
  return `${location} IS BEHIND since ${secondText(behindSince)}, ${last}: ${cause ?? 'a run is under way, or was ended'}\n`;
}

/** What a plan would do to a bucket, in words; nothing where there is none. */
export function bucketPlanText(plan: BucketPlan | AppError | null): string {
  if (plan === null) return '';
  if (plan instanceof AppError) return troubleText('the bucket cannot be looked at', plan);
  const { destination, put, remove } = plan;
  const lines = [...put.map((path) => `  to be put: ${path}\n`), ...remove.map((path) => `  to be removed: ${path}\n`)];
  return lines.length === 0 ? '' : `${destination}\n${lines.join('')}`;
}

/** The report on a bucket, for `--json`; null where there is none. */
export function bucketJson(report: BucketReport | null): object | null {
  if (report === null) return null;
  const { destination, followed, error } = report;
  return { destination, ...followed, error: error === null ? null : presentError(error) };
}

/** The report on a catalog, for `--json`; null where there is none. */
export function catalogJson(report: CatalogReport | null): object | null {
  return report && { ...report, error: report.error === null ? null : presentError(report.error) };
}

/** The report on a catalog, in words; empty where there is none, or where it led to all tables already. */
export function catalogText(report: CatalogReport | null): string {
  const { uri, told, error } = report ?? { uri: '', told: [], error: null };
  if (error !== null) return troubleText('THE CATALOG IS BEHIND', error);
  return told.length === 0 ? '' : `${uri}: leads to ${told.join(', ')} as published now\n`;
}

function troubleText(what: string, { message, hint }: AppError): string {
  return `${what}: ${message}\n${hint === undefined ? '' : `${hint}\n`}`;
}

/** The report on a bucket, in words; empty where there is none, or nothing was to be done. */
export function bucketText(report: BucketReport | null): string {
  if (report === null) return '';
  const { destination, followed, error } = report;
  if (error !== null) return troubleText('THE BUCKET DOES NOT FOLLOW', error);
  if (followed === null) return '';
  const { put, removed, aborted, foreign, locked } = followed;
  const until = lastEnd(locked);
  const parts = [
    ...(put > 0 ? [`${countedText(put, 'file')} put`] : []),
    ...(removed > 0 ? [`${countedText(removed, 'old version')} removed`] : []),
    ...(aborted > 0 ? [`${countedText(aborted, 'upload')} aborted`] : []),
    ...(locked.length > 0
      ? [
          `${countedText(locked.length, 'old version')} locked until ${until === null ? 'a hold ends' : minuteText(until)}`,
        ]
      : []),
    ...(foreign.length > 0 ? [`${countedText(foreign.length, 'object')} of others left alone`] : []),
  ];
  return parts.length === 0 ? '' : `${destination}: ${parts.join(', ')}\n`;
}
