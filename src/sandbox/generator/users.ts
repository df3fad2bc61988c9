import type { UserRecord } from '../store/api-keys.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The organization's members: keys act in their name, and playlists embed them. */
export function generateUsers(random: SeededRandom): UserRecord[] {
  const member = (id: number, first: string, last: string, role: string): UserRecord => ({
    id,
    uuid: random.uuid(),
    distinct_id: random.uuid(),
    first_name: first,
    last_name: last,
    email: `${first.toLowerCase()}@team.example.com`,
    is_email_verified: id !== 3,
    hedgehog_config: id === 1 ? { color: 'blue', accessories: ['glasses'], use_as_profile: true } : {},
    role_at_organization: role,
  });
  return [
    member(1, 'Olivia', 'Öberg', 'engineering'),
    member(2, 'Rafael', 'Núñez', 'data'),
    member(3, 'Mei', '陳', 'product'),
  ];
}
