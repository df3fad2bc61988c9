import type { Service } from '../client/service.ts';
import type { Scope } from '../contract/endpoints.ts';
import { AppError } from '../core/errors.ts';
import type { Found } from './check.ts';

/** Asks whether the key may delete persons, and changes nothing: the change is empty, and no person has the id. */
export function askToDelete(service: Service, signal: AbortSignal): Promise<Found> {
  return askToChange('persons', () => service.call('persons.update', { params: { id: 0 }, body: {}, signal }), {
    scope: 'person:write',
    lost: 'this key cannot delete persons: erasures will be refused',
  });
}

/** Asks whether the key may change playlists, and changes nothing: the change is empty, and there is no such playlist. */
export function askToChangePlaylists(service: Service, signal: AbortSignal): Promise<Found> {
  const params = { short_id: 'no-such-playlist' };
  return askToChange('playlists', () => service.call('playlists.update', { params, body: {}, signal }), {
    scope: 'session_recording_playlist:write',
    lost: 'this key cannot change playlists: an erasure may not be able to take recordings out of them',
  });
}

/** Sends a change that can change nothing: a key without the scope gets a 403, any other key a 404. */
async function askToChange(
  dataset: string,
  change: () => Promise<unknown>,
  { scope, lost }: { scope: Scope; lost: string },
): Promise<Found> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.status === 403) throw new AppError(lost, { code: 'refused', hint: `give the key the scope ${scope}` });
    if (error.status !== 404 && error.code === 'rejected')
      return {
        state: 'warning',
        detail: `unclear whether the key may change ${dataset} (${scope}): the service answers an empty change with ${error.status}`,
      };
    if (error.status !== 404) throw error;
  }
  return `the key may change ${dataset} (${scope})`;
}
