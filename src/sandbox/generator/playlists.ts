import { microsToIso } from '../../core/time.ts';
import type { UserRecord } from '../store/api-keys.ts';
import type { Store } from '../store/store.ts';
import { baseMs, microsBeforeBase, type SeededRandom } from './seeded-random.ts';

const definitions = [
  { name: 'Rage clicks', description: 'More than ten clicks a minute', pinned: true, filters: { events: [] } },
  { name: 'Überprüfung 🔍', description: '', pinned: false, filters: null },
  {
    name: 'Checkout, mobile',
    description: 'Snapshots from phones',
    pinned: false,
    filters: { duration: [{ key: 'active_seconds', value: 60, operator: 'gt' }] },
  },
  { name: 'お気に入り', description: 'Kept for the design review', pinned: true, filters: {} },
  { name: 'Old onboarding', description: 'Soft-deleted', pinned: false, filters: null, deleted: true },
];

/** A handful of playlists, one of them soft-deleted, each with some of the recordings in it. */
export function generatePlaylists(
  random: SeededRandom,
  store: Pick<Store, 'playlists'>,
  users: readonly UserRecord[],
  recordingIds: readonly string[],
): void {
  definitions.forEach(({ deleted = false, ...definition }, index) => {
    const shortId = random.uuid().replaceAll('-', '').slice(0, 8);
    store.playlists.add({
      id: index + 1,
      short_id: shortId,
      derived_name: `${definition.name} (derived)`,
      created_at: microsToIso(microsBeforeBase(random, 365)),
      created_by: random.pick(users),
      deleted,
      last_modified_at: microsToIso(baseMs * 1000),
      last_modified_by: random.pick(users),
      ...definition,
    });
    for (let member = Math.min(recordingIds.length, 2 + index * 3); member > 0; member -= 1) {
      store.playlists.addRecording(shortId, random.pick(recordingIds));
    }
  });
}
