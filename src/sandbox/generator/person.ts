import type { NewPerson } from '../store/person-writer.ts';
import { generateName } from './names.ts';
import { generateProperties } from './properties.ts';
import type { SeededRandom } from './seeded-random.ts';
import { microsBeforeBase } from './timeline.ts';

/** One person with this id. `previous` is the person before, whose time it sometimes shares. */
export function generatePerson(random: SeededRandom, id: number, previous: NewPerson | undefined): NewPerson {
  const { name, ascii } = generateName(random);
  // Now and then two people share one address, as colleagues and families do.
  const address = id % 60 === 2 ? 'shared.inbox@example.org' : `${ascii}.${id}@${random.pick(domains)}`;
  const { properties, email } = generateProperties(random, id, address);
  return {
    id,
    uuid: random.uuid(),
    name,
    createdAtMicros: createdAtMicros(random, id, previous),
    distinctIds: distinctIds(random, id, email === address && id % 60 !== 2 ? email : null),
    properties,
    email,
  };
}

const domains = ['example.com', 'example.org', 'mail.example.net'] as const;

function createdAtMicros(random: SeededRandom, id: number, previous: NewPerson | undefined): number {
  if (id % 25 === 4 && previous) return previous.createdAtMicros;
  if (id % 1000 === 7) return -random.int(1, 40_000_000_000_000);
  return microsBeforeBase(random, 3 * 365);
}

/** One to four, each unique by the id in it: accounts, e-mails, anonymous ids, and text that needs escaping. */
function distinctIds(random: SeededRandom, id: number, email: string | null): string[] {
  const account = id % 19 === 3 ? `ид ${id}/ü?&#%"👩‍🚀` : `user_${id}`;
  const ids = [account];
  if (email !== null && random.oneIn(2)) ids.push(email);
  if (random.oneIn(2)) ids.push(random.uuid());
  if (random.oneIn(4)) ids.push(`$device:${id}`);
  return ids;
}
