import type { CatalogReport } from '../bucket/catalog.ts';
import { lastEnd } from '../bucket/follow-plan.ts';
import type { BucketReport } from '../bucket/keep.ts';
import { countedText, minuteText } from '../core/words.ts';
import { presentError } from './errors.ts';

/** What a bucket did, for `--json`; null where there is none. */
export function bucketJson(report: BucketReport | null): object | null {
  if (report === null) return null;
  const { destination, followed, error } = report;
  return { destination, ...followed, error: error === null ? null : presentError(error) };
}

/** What a catalog was told, for `--json`; null where there is none. */
export function catalogJson(report: CatalogReport | null): object | null {
  return report && { ...report, error: report.error === null ? null : presentError(report.error) };
}

/** What a catalog was told, in words; nothing where there is none, or nothing was to be told. */
export function catalogText(report: CatalogReport | null): string {
  const { uri, told, error } = report ?? { uri: '', told: [], error: null };
  if (error !== null)
    return `THE CATALOG IS BEHIND: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`;
  return told.length === 0 ? '' : `${uri}: leads to ${told.join(', ')} as published now\n`;
}

/** What a bucket did, in words; nothing where there is none, or nothing was to be done. */
export function bucketText(report: BucketReport | null): string {
  if (report === null) return '';
  const { destination, followed, error } = report;
  if (error !== null)
    return `THE BUCKET DOES NOT FOLLOW: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`;
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
