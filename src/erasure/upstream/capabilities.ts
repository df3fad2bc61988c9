import { randomUUID } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { asServiceError, type Reply, type Service } from '../../client/service.ts';
import { unlessThrottled } from './context.ts';

/** What a service can do beyond the document. */
export type Capabilities = { bulkDelete: boolean; deletionStatus: boolean };

const known = new WeakMap<Service, Promise<Capabilities>>();

/** What a service can do, asked once by calls without effect. Rejects as these calls do; then the next call asks. */
export async function probeCapabilities(service: Service, signal: AbortSignal): Promise<Capabilities> {
  const probed = known.get(service) ?? probe(service, signal);
  known.set(service, probed);
  try {
    return await probed;
  } catch (error) {
    known.delete(service);
    throw error;
  }
}

async function probe(service: Service, signal: AbortSignal): Promise<Capabilities> {
  const options = { priority: 'deletion', signal } as const;
  const query = { person_uuid: randomUUID() };
  // Where the key may not see the queue, it deletes as where there is none to be seen.
  const deletionStatus = await statusOf(() => service.call('persons.deletion_status', { query, ...options }), [401]);
  // An empty list deletes no person: where the endpoint exists, it is refused as wrong input.
  const body = { ids: [] };
  const bulkDelete = await statusOf(() => service.call('persons.bulk_delete', { body, ...options }));
  return { deletionStatus: deletionStatus === 200, bulkDelete: bulkDelete === 400 };
}

/**
 * The status of an answer that tells whether an endpoint is there. Throws what tells nothing, as a 404 that is not in the service's own
 * words: a proxy may lack the route for a moment, and a person whom a single deletion has taken has no events queued any more.
 */
async function statusOf(call: () => Promise<Reply>, refusals: readonly number[] = [401, 403]): Promise<number> {
  try {
    return (await unlessThrottled(call)).status;
  } catch (error) {
    const status = error instanceof AppError ? (error.status ?? 0) : 0;
    if (error instanceof AppError && error.isForeign && status === 404) throw asServiceError(error);
    if (status < 400 || status >= 500 || status === 429 || refusals.includes(status)) throw error;
    return status;
  }
}
