import { askForEntries } from '../client/playlist-entries.ts';
import type { Service } from '../client/service.ts';
import { untoldText } from '../sync/pass-report.ts';
import type { Found } from './check.ts';

const fixes = {
  cut: { fix: 'mirror playlists with fewer recordings: live services show 50 at most' },
  refused: {
    fix: 'give the key the scope session_recording_playlist:read; services older than December 2025 show the list to no key',
  },
  no_list: {},
  not_found: {},
} as const;

/** Asks for a playlist and for its recordings. Rejects where the playlist is refused or unknown. */
export async function checkPlaylist(service: Service, shortId: string, signal: AbortSignal): Promise<Found> {
  await service.call('playlists.retrieve', { params: { short_id: shortId }, signal });
  const { reason } = await askForEntries(service, shortId, { signal });
  if (reason === null)
    return 'answers, with its recordings; the key may read playlists (session_recording_playlist:read)';
  return {
    state: 'warning',
    detail: `answers, but its recordings cannot all be read: ${untoldText(reason)}; certificates will call them not verifiable`,
    ...fixes[reason],
  };
}
