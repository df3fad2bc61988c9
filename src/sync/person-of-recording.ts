import { z } from 'zod';

const RowWithPerson = z.object({ person: z.object({ uuid: z.guid() }) });

/** The uuid of the person that a recording embeds, in lower case; null where it embeds none. */
export function personUuidOf(recording: unknown): string | null {
  const known = RowWithPerson.safeParse(recording);
  return known.success ? known.data.person.uuid.toLowerCase() : null;
}
