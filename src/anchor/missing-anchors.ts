import type { Settings } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';

/** A sentence for each anchor of the settings that is missing or old. What reads time stamps is loaded only where there is one. */
export async function findMissingAnchors(settings: Pick<Settings, 'audit' | 'dataDir'>): Promise<string[]> {
  if (settings.audit.anchors.length === 0) return [];
  const { missingAnchors, openAnchors, reachOf } = await import('./anchors.ts');
  return missingAnchors(reachOf(ledgerFolder(settings.dataDir), openAnchors(settings)), systemClock.now());
}
