import { AppError, systemCode, usageError } from './errors.ts';

/** What is found where a statement finds no table. */
export const noTables = 'no_tables';

/**
 * The error of Postgres' driver as one of this program's. `is`: the database in words; `place`: where its address is set. The driver's
 * own message is left out: it can hold the address, or a row.
 */
export function explainPostgres(error: unknown, { is, place }: { is: string; place: string }): AppError {
  if (error instanceof AppError) return error;
  const state = systemCode(error) ?? '';
  const told = state === '' ? '' : ` (${state})`;
  if (state.startsWith('28') || state === '3D000')
    return usageError(
      `${is} refuses this user or has no such database${told}`,
      `set ${place} to an address that can be used`,
    );
  // Node names the errors of certificates so; the driver's own have no code.
  if (
    /CERT|SIGNATURE|ALTNAME|^ERR_(?:SSL|TLS)/.test(state) ||
    (error instanceof Error && /\bSSL\b/.test(error.message))
  )
    return usageError(
      `${is} offers no connection that can be trusted${told}`,
      'turn TLS on there; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file',
    );
  if (state === '42501')
    return usageError(
      `the user of ${is} may not make, change or wholly read its tables${told}`,
      'let it make a schema: GRANT CREATE ON DATABASE … TO …; where a policy hides rows from it: ALTER ROLE … BYPASSRLS',
    );
  if (state === '55P03')
    return new AppError(`another session of ${is} locks a table that has to change${told}`, {
      code: 'unreachable',
      hint: 'end it, or wait for its end, and try again',
      retryable: true,
    });
  if (state === '2BP01')
    return usageError(
      `a view needs a column that is no longer published, or has another type now${told}`,
      'drop the view, load, and make it anew',
    );
  if (state === '23503')
    return usageError(
      `a table of yours refers to rows that leave${told}`,
      'drop its foreign key, or let it end with ON DELETE CASCADE, and load',
    );
  const isRefused = /^[0-9A-Z]{5}$/.test(state) && !/^(?:08|40|53|55|57|58)/.test(state);
  return new AppError(`${is} ${isRefused ? 'refuses a statement' : 'does not answer'}${told}`, {
    code: isRefused ? 'storage' : 'unreachable',
    ...(['42P01', '3F000'].includes(state) ? { finding: noTables } : {}),
    hint: isRefused ? "report this, with the words of Postgres' own log" : 'see that it runs and can be reached',
    retryable: !isRefused,
  });
}
