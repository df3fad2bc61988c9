import { isDeepStrictEqual } from 'node:util';
import type { Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import { usageError } from '../core/errors.ts';
import { reasonMac } from '../core/secret-key.ts';
import type { LedgerRecord, Seen } from '../ledger/record.ts';
import { coverageOf, type RequestHistory } from '../ledger/request-history.ts';
import { boxKeyName, readEpoch } from '../mirror/fence.ts';
import type { Attestation } from './attest.ts';
import { requireRequest } from './receive.ts';
import { requireReferences } from './request/reference.ts';
import type { RequestRef } from './request/target-journal.ts';
import { record, together, type StepContext } from './request/together.ts';

/**
 * The record that a scan has proved a request's person gone from here. It names the consumers of the published files, and their tables
 * that can hold people: whatever the settings say later, these had to delete the person too.
 */
export function provedGone(
  { settings }: { settings: { export: Pick<Settings['export'], 'consumers' | 'fence'> } },
  { id, generation }: RequestRef,
): LedgerRecord {
  const consumers = settings.export.consumers.toSorted();
  const expected = settings.export.fence.flatMap(({ consumer, tables }) =>
    tables.length > 0 ? { consumer, tables: [...tables] } : [],
  );
  const named = { ...(consumers.length > 0 && { consumers }), ...(expected.length > 0 && { expected }) };
  return { type: 'locally_verified', request: id, generation, ...named };
}

/** A consumer of the published files, when it was last recorded that it has deleted the person too (null: it is not), and what was seen of it. */
export type Acknowledgement = { consumer: string; acknowledgedAt: string | null } & ReturnType<typeof coverageOf>;

/**
 * The consumers that the settings or the ledger name, by name. None before the person is fenced: until then there
 * is nothing for them to delete.
 */
export function acknowledgementsOf(
  { fence, acknowledged, consumers: asked }: Pick<RequestHistory, 'fence' | 'acknowledged' | 'consumers'>,
  consumers: readonly string[],
): Acknowledgement[] {
  if (fence === null) return [];
  const names = [...new Set([...consumers, ...asked.keys(), ...acknowledged.keys()])].toSorted();
  return names.map((consumer) => {
    const { expected = [] } = asked.get(consumer) ?? {};
    const { at = null, seen = {} } = acknowledged.get(consumer) ?? {};
    return Object.assign({ consumer, acknowledgedAt: at }, coverageOf({ at, expected, seen }));
  });
}

/**
 * How many people were proved gone from here more than so many days ago, and one of the consumers that had to delete them too has
 * acknowledged nothing. Consumers that the settings have named only since are not asked for them.
 */
export function countUnacknowledged(histories: Iterable<RequestHistory>, nowMs: number, days: number): number {
  const limit = isoTime(nowMs - days * 86_400_000);
  return [...histories].filter(
    ({ verified, consumers, acknowledged, isReadmitted }) =>
      verified && verified.at < limit && !isReadmitted && [...consumers.keys()].some((name) => !acknowledged.has(name)),
  ).length;
}

/**
 * Records that a consumer says it has deleted a request's person too, once for each generation, and what was seen, where that is new.
 * Throws `usage` for a consumer that neither the settings nor the ledger names, a request of which nothing is erased yet, a note that
 * is no reference, and a report from before the erasure.
 */
export function acknowledgeRequest(
  context: StepContext & { settings: { dataDir: string; export: Pick<Settings['export'], 'consumers'> } },
  idOrPrefix: string,
  told: { consumer: string; note?: string | undefined; attestation?: Attestation | undefined },
): { id: string } {
  const { consumer, note, attestation } = told;
  requireReferences({ note });
  const { db, ledger, settings } = context;
  const { consumers } = settings.export;
  const { id } = requireRequest(db, idOrPrefix);
  const history = ledger().histories.of(id);
  if (!consumers.includes(consumer) && history?.consumers.has(consumer) !== true)
    throw usageError(
      'the settings name no such consumer',
      consumers.length === 0 ? 'set export.consumers to their names first' : `they name: ${consumers.join(', ')}`,
    );
  if (!history || history.fence?.generation !== history.generation)
    throw usageError(
      `request ${id}: no one is erased yet, so there is nothing that a consumer could have deleted`,
      'run `analytics-mirror reconcile` first',
    );
  if (attestation && attestation.epoch < history.fence.epoch)
    throw usageError(
      `request ${id}: the report is older than the erasure`,
      'export, load the fence, and run the kit again',
    );
  const known = history.acknowledged.get(consumer);
  const seen = attestation?.seen;
  const last = seen && known?.seen[seen.assurance];
  const { generation } = history;
  // What a certificate no longer names is written down only where other tables are covered: there can be a load an hour.
  const isCertified = history.certified.some((each) => each.generation === generation);
  const isSame = isDeepStrictEqual(last, { ...seen, at: last?.at });
  if (known && (!seen || isSame || (isCertified && last?.tables.join() === seen.tables.join()))) return { id };
  const mac = note === undefined ? {} : { note: reasonMac(settings.dataDir, boxKeyName, note) };
  record(context, { type: 'acknowledged', request: id, generation, consumer, ...mac, ...(seen && { seen }) });
  return { id };
}

/** Records, for each request whose fence stands, what this program has seen of a consumer's tables just now. */
export function recordSeen(context: Parameters<typeof acknowledgeRequest>[0], consumer: string, seen: Seen): void {
  const attestation = { seen, epoch: readEpoch(context.db) };
  together(context, (step) => {
    for (const id of attestedBy(attestation, context.ledger().histories.all()))
      acknowledgeRequest(step, id, { consumer, attestation });
  });
}

/** The requests that a report can be of: whose fence stood already when it was made. By id. */
export function attestedBy({ epoch }: Attestation, histories: Iterable<RequestHistory>): string[] {
  return [...histories].flatMap(({ request, generation, fence, isReadmitted }) =>
    fence?.generation === generation && fence.epoch <= epoch && !isReadmitted ? [request] : [],
  );
}
