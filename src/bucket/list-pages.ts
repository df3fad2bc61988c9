import { AppError } from '../core/errors.ts';

/** A list goes no further: `textsMax` is of all its texts together. */
const itemsMax = 50_000;
const textsMax = 12 << 20;
const pagesMax = 1_000;

/** Where a page of a list begins, and where the next one does. */
type Markers = { [key in 'KeyMarker' | 'VersionIdMarker' | 'UploadIdMarker']?: string | undefined };
type Page = { IsTruncated?: boolean | undefined } & { [key in keyof Markers as `Next${key}`]: Markers[key] };

/** The items of all pages of a list of the store. Throws `oversize` where there are too many of them, `service` where it has no end. */
export async function collectPages<P extends Page, T>(
  ask: (from: Markers) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Promise<T[]> {
  const found: T[] = [];
  const begun = new Set<string>();
  let texts = 0;
  for (let from: Markers | undefined = {}; from;) {
    const markers = JSON.stringify(from);
    if (begun.has(markers) || begun.size === pagesMax)
      throw new AppError('a list of the store has no end', {
        code: 'service',
        hint: 'nothing was changed by it; use a store whose lists end, or a prefix with fewer objects below',
      });
    begun.add(markers);
    const page: P = await ask(from);
    refuseOther(page);
    const items = JSON.stringify(itemsOf(page));
    texts += markers.length + items.length;
    // Their own texts: those of the parser would keep the whole answer in memory.
    for (const item of JSON.parse(items) as T[]) found.push(item);
    if (found.length > itemsMax || texts > textsMax)
      throw new AppError(
        `the bucket lists more than ${itemsMax} objects and versions below the prefix, or names that are too long`,
        { code: 'oversize', hint: 'give a prefix below which only the published files lie' },
      );
    const { NextKeyMarker, NextVersionIdMarker, NextUploadIdMarker } = page;
    from = page.IsTruncated
      ? { KeyMarker: NextKeyMarker, VersionIdMarker: NextVersionIdMarker, UploadIdMarker: NextUploadIdMarker }
      : undefined;
  }
  return found;
}

/** Refuses an answer that is no page of a list: one without names would say that nothing stands there. */
export function refuseOther({ IsTruncated }: Pick<Page, 'IsTruncated'>): void {
  if (IsTruncated !== undefined) return;
  throw new AppError('what should be a list of the store is none', {
    code: 'service',
    hint: 'see what answers at the address of the store',
  });
}
