import type { Settings } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import { reasonMac } from '../core/secret-key.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import type { Database } from '../mirror/database.ts';
import { boxKeyName } from '../mirror/fence.ts';
import { requireRequest } from './receive.ts';
import { requireReferences } from './request/reference.ts';

/** A consumer of the published files, and since when it is recorded that it has deleted the person too; null: it is not. */
export type Acknowledgement = { consumer: string; acknowledgedAt: string | null };

/**
 * The consumers that the settings name or that have acknowledged, by name. None before the person is fenced: until then there
 * is nothing for them to delete.
 */
export function acknowledgementsOf(
  { fence, acknowledged }: Pick<RequestHistory, 'fence' | 'acknowledged'>,
  consumers: readonly string[],
): Acknowledgement[] {
  if (fence === null) return [];
  const names = [...new Set([...consumers, ...acknowledged.keys()])].toSorted();
  return names.map((consumer) => ({ consumer, acknowledgedAt: acknowledged.get(consumer) ?? null }));
}

/**
 * Records that a consumer says it has deleted a request's person too, once for each generation. Throws `usage` for a consumer
 * that the settings do not name, a request of which nothing is erased yet, and a note that is no reference.
 */
export function acknowledgeRequest(
  {
    db,
    ledger,
    settings,
  }: {
    db: Database;
    ledger: () => Pick<Ledger, 'append' | 'histories'>;
    settings: { dataDir: string; export: Pick<Settings['export'], 'consumers'> };
  },
  idOrPrefix: string,
  { consumer, note }: { consumer: string; note?: string | undefined },
): { id: string } {
  requireReferences({ note });
  const { consumers } = settings.export;
  if (!consumers.includes(consumer))
    throw new AppError('the settings name no such consumer', {
      code: 'usage',
      hint: consumers.length === 0 ? 'set export.consumers to their names first' : `they name: ${consumers.join(', ')}`,
    });
  const { id } = requireRequest(db, idOrPrefix);
  const history = ledger().histories.of(id);
  if (!history || history.fence?.generation !== history.generation)
    throw new AppError(`request ${id}: no one is erased yet, so there is nothing that a consumer could have deleted`, {
      code: 'usage',
      hint: 'run `analytics-mirror reconcile` first',
    });
  if (history.acknowledged.has(consumer)) return { id };
  const mac = note === undefined ? {} : { note: reasonMac(settings.dataDir, boxKeyName, note) };
  ledger().append([{ type: 'acknowledged', request: id, generation: history.generation, consumer, ...mac }]);
  return { id };
}
