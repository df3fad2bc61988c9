import type { Service } from '../client/service.ts';
import type { Scope } from '../contract/endpoints.ts';
import { AppError } from '../core/errors.ts';
import type { Found } from './check.ts';

/**
 * Asks whether the key may delete persons, and changes nothing: no person has the id, and the change is empty. A live service
 * refuses a change without `properties` before it looks the person up. Where that does not tell, it asks for the deletion of an
 * empty list of persons, which a service that knows the call refuses as wrong input. `isErasing`: a key that may not is at fault; else
 * somebody may only want to mirror.
 */
export function askToDelete(service: Service, signal: AbortSignal, isErasing: boolean): Promise<Found> {
  const change = { params: { id: 0 }, body: { properties: {} }, signal };
  return askToChange({
    dataset: 'persons',
    scope: 'person:write',
    lost: 'this key cannot delete persons: erasures will be refused',
    isNeeded: isErasing,
    change: () => service.call('persons.update', change),
    changeInstead: () => service.call('persons.bulk_delete', { body: { ids: [] }, signal }),
  });
}

/** Asks whether the key may change playlists, and changes nothing: the change is empty, and there is no such playlist. */
export function askToChangePlaylists(service: Service, signal: AbortSignal, isErasing: boolean): Promise<Found> {
  const params = { short_id: 'no-such-playlist' };
  return askToChange({
    dataset: 'playlists',
    scope: 'session_recording_playlist:write',
    lost: 'this key cannot change playlists: an erasure may not be able to take recordings out of them',
    isNeeded: isErasing,
    change: () => service.call('playlists.update', { params, body: {}, signal }),
  });
}

/** A change that can change nothing: of a row that cannot be there, and, where that does not tell, of no row. */
type EmptyChange = {
  dataset: string;
  scope: Scope;
  lost: string;
  isNeeded: boolean;
  change: () => Promise<unknown>;
  changeInstead?: () => Promise<unknown>;
};

/** Sends a change that can change nothing: a key without the scope gets a 403, any other key a 404. */
async function askToChange(asked: EmptyChange): Promise<Found> {
  try {
    return await mayChange(asked);
  } catch (error) {
    if (asked.isNeeded || !(error instanceof AppError) || error.status !== 403) throw error;
    return { state: 'warning', detail: error.message, ...(error.hint === undefined ? {} : { fix: error.hint }) };
  }
}

async function mayChange({ dataset, scope, lost, change, changeInstead }: EmptyChange): Promise<Found> {
  const may = `the key may change ${dataset} (${scope})`;
  const refusal = await refusalOf(change, lost);
  // A 404 in other words is a proxy's that lets no such change through.
  if (refusal === undefined || (refusal.status === 404 && !refusal.isForeign)) return may;
  const other = changeInstead && (await refusalOf(changeInstead, lost));
  if (other?.status === 400 && !other.isForeign) return may;
  const words = refusal.isForeign ? ' and other words than its own: a proxy may stand before the service' : '';
  return {
    state: 'warning',
    detail: `unclear whether the key may change ${dataset} (${scope}): the service answers an empty change with ${refusal.status}${words}`,
  };
}

/** The refusal of a change as wrong; undefined where it is taken. Throws where the key may not make it, or nothing is told. */
async function refusalOf(change: () => Promise<unknown>, lost: string): Promise<AppError | undefined> {
  try {
    await change();
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.status === 403 && !error.isForeign)
      throw new AppError(`${lost} (${error.message})`, { code: 'refused', status: 403, hint: error.hint });
    if (error.code !== 'rejected') throw error;
    return error;
  }
}
