import { askAnchors, missingAnchors, openAnchors, reachOf, type Anchored } from '../anchor/anchors.ts';
import { usageError } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { anchorMissing, anchorRefused } from './alerts.ts';

/** The answers of the anchors. */
export type AnchorJobResult = JobResult & { anchors: Anchored[] };

/**
 * Signs the ledger and has the checkpoint anchored outside, as one run of `anchor`. Incomplete for `anchorRefused` where a witness
 * has seen another ledger, for `anchorMissing` where an entry has waited too long for an anchor, and otherwise where one is away.
 */
export function runAnchorJob(context: JobContext): Promise<AnchorJobResult> {
  const { settings, clock } = context;
  const anchors = openAnchors(settings);
  if (anchors.length === 0)
    throw usageError(
      'no anchor is configured',
      'name time-stamp authorities or witnesses in `audit.anchors` (docs/operations/signing-key.md)',
    );
  const folder = ledgerFolder(settings.dataDir);
  return runJob(context, 'anchor', async ({ ledger, signal, log }) => {
    if (ledger().size() > 0) ledger().checkpoint();
    const asked = ledger().size() > 0 ? await askAnchors(folder, anchors, { signal }) : [];
    for (const { name, result, says } of asked.filter((each) => each.result !== 'anchored'))
      log.warn({ anchor: name, result }, `an anchor ${says}`);
    const counts = { entries: ledger().size(), anchored: asked.filter(({ result }) => result === 'anchored').length };
    const found = { counts, anchors: asked };
    if (asked.some(({ result }) => result === 'refused'))
      return { outcome: 'incomplete', reason: anchorRefused, ...found };
    if (missingAnchors(reachOf(folder, anchors), clock.now()).length > 0)
      return { outcome: 'incomplete', reason: anchorMissing, ...found };
    if (counts.anchored < asked.length) return { outcome: 'incomplete', reason: 'anchor_away', ...found };
    return { outcome: 'done', ...found };
  });
}
