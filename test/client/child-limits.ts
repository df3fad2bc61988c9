import type { TransportLimits } from '../../src/client/transport.ts';

/** How long a call of a child process may take: a test waits for it. */
export const limits: TransportLimits = { totalTimeoutMs: 9000, bodyBytesMax: 1000 };
