import { z } from 'zod';

/** The name of a consumer: a system or a team that loads the published files. It stands on the ledger, and is no person's. */
export const ConsumerName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,39}$/, 'is 1 to 40 of a-z, 0-9, _ and -, a letter first');

/** The name of a table of a consumer, with its schema before it. It stands on the ledger, and is no person's. */
export const ReaderTable = z
  .string()
  .regex(
    /^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62}){0,2}$/,
    'is a table of small letters, digits and _, such as mart.events',
  );

/** The name of a machine of a cluster. It stands on the ledger, and is no person's. */
export const MachineName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{0,62}$/, 'is 1 to 63 of a-z, 0-9, . and -, a letter or digit first');
