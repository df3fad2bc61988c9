import { z } from 'zod';

/** The name of a consumer: a system or a team that loads the published files. It stands on the ledger, and is no person's. */
export const ConsumerName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,39}$/, 'is 1 to 40 of a-z, 0-9, _ and -, a letter first');
