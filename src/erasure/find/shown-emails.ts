import type { Sighting } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { findQuarantined } from '../../mirror/quarantine.ts';
import { findEmails } from '../../mirror/sightings.ts';
import { locateEmails } from '../../snapshot/email-rows.ts';
import { nobody } from '../../contract/identity.ts';
import { isNameless } from './closure.ts';

/** Where e-mail addresses are looked for. */
type EmailContext = Pick<JobContext, 'db' | 'published' | 'signal'>;

/**
 * Every row held that shows one of some e-mail addresses (as `emailKey` spells them): of the mirror, of every generation of
 * every published file, and of the quarantine. Reads all of them once, for all addresses.
 */
export function findShownEmails(context: EmailContext, emails: ReadonlySet<string>): Promise<Sighting[]> {
  return find(context, emails, false);
}

/**
 * The same rows, if some of them show an address without uuid and integer id, and no row where none does. Then all rows
 * are needed: they tell which persons have had the address. Rarely reads more than the recordings that show no uuid.
 */
export async function findNamelessRows(context: EmailContext, emails: ReadonlySet<string>): Promise<Sighting[]> {
  const unnamed = await find(context, emails, true);
  const shown = new Set(unnamed.filter(isNameless).flatMap(({ email }) => email ?? []));
  return findShownEmails(context, shown);
}

/** The persons, by uuid, that rows show with each e-mail address. */
export function holdersIn(rows: readonly Sighting[]): Map<string, string[]> {
  const holders = new Map<string, string[]>();
  for (const { email, person_uuid: uuid } of rows)
    if (email !== undefined && uuid !== null) holders.set(email, [...(holders.get(email) ?? []), uuid]);
  return holders;
}

async function find(
  { db, published, signal }: EmailContext,
  emails: ReadonlySet<string>,
  onlyUnnamed: boolean,
): Promise<Sighting[]> {
  if (emails.size === 0) return [];
  return [
    ...findEmails(db, emails, { onlyUnnamed }),
    ...findQuarantined(db, nobody, emails).map(({ sure }) => sure),
    ...(await locateEmails(published, emails, { onlyUnnamed, signal })),
  ];
}
