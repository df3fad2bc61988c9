import { openLedger } from '../../src/ledger/ledger.ts';
import { createLogger } from '../../src/log/logger.ts';
import { silentTracer } from '../../src/log/tracer.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import type { JobContext } from '../../src/job/job-context.ts';

/** A job's context over a real mirror and ledger, without a service unless `more` brings one; it logs and traces nothing. */
export function jobContext<More extends object>(
  { db, settings, clock }: Pick<JobContext, 'db' | 'settings' | 'clock'>,
  more: More,
): JobContext & More {
  return {
    db,
    published: publishedFilesIn(settings.dataDir),
    settings,
    clock,
    log: createLogger({ level: 'silent', isTerminal: false }),
    tracer: silentTracer,
    signal: new AbortController().signal,
    service: null,
    project: null,
    ledger: () => openLedger(settings.dataDir, clock),
    ...more,
  };
}
