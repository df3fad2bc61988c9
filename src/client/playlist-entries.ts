import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { isKeyText } from '../contract/tolerant-reader.ts';
import type { Priority } from './budget.ts';
import type { Service } from './service.ts';

/** A recording as the list of a playlist shows it. */
export type ShownEntry = { id: string; [field: string]: unknown };

/**
 * What the service tells of a playlist's recordings. `shown`: those that it shows, null where it shows no list; `reason`: why
 * there may be others, null where these are all.
 */
export type ToldEntries =
  | { shown: ShownEntry[]; reason: null | 'cut' }
  | { shown: null; reason: 'refused' | 'no_list' | 'not_found' };

const Entries = z.object({
  results: z.array(z.looseObject({ id: z.string() })),
  next: z.string().nullish(),
  has_next: z.boolean().nullish(),
  count: z.number().nullish(),
});

/**
 * How many entries a playlist has, by its own fields. A live service says null of one that is empty, and null of both counts where it
 * could not count.
 */
const Counted = z.looseObject({
  recordings_counts: z.looseObject({
    collection: z.looseObject({ count: z.number().nullable(), watched_count: z.number().nullish() }),
  }),
});

/**
 * Asks for the recordings of a playlist, which the service has just shown (`playlist`). Live services show 50 at most, ignore `limit`
 * and `offset`, and hide entries of recordings that are gone, or older than a window: only the playlist's own count tells of these.
 * Older ones refuse the list to every key; the documented answer has no body. Rejects as the call does where the service cannot be asked.
 */
export async function askForEntries(
  service: Service,
  shortId: string,
  playlist: unknown,
  options: { priority?: Priority; signal: AbortSignal },
): Promise<ToldEntries> {
  let body: unknown;
  try {
    ({ body } = await service.call('playlists.recordings', { params: { short_id: shortId }, ...options }));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // A proxy may have no route for the call.
    if (error.status === 404 && !error.isForeign) return { shown: null, reason: 'not_found' };
    if (error.status === 403 || error.code === 'rejected') return { shown: null, reason: 'refused' };
    throw error;
  }
  const read = Entries.safeParse(body);
  if (!read.success) return { shown: null, reason: 'no_list' };
  const { results, next = null, has_next: hasNext = false, count } = read.data;
  // As in the list of recordings, where a row with such an id is in quarantine.
  const shown = results.filter(({ id }) => isKeyText(id));
  const counted = Counted.safeParse(playlist).data?.recordings_counts.collection;
  const isUncounted = counted?.count === null && counted.watched_count === null;
  const least = Math.max(count ?? 0, counted?.count ?? 0, results.length);
  const isCut = next !== null || hasNext === true || isUncounted || shown.length < least;
  return { shown, reason: isCut ? 'cut' : null };
}
