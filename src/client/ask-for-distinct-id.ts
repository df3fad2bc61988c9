import { AppError } from '../core/errors.ts';
import { readEnvelope } from '../contract/tolerant-reader.ts';
import { rowsOfOneMax, type Service } from './service.ts';

/** Every server takes addresses with shorter ones. There, a 414 is no answer. */
const longFrom = 1_000;

/**
 * The rows that a list shows for one distinct id; none for one that is too long for an address (414): no list can be asked for it.
 * Otherwise rejects as the call does.
 */
export async function askForDistinctId(
  service: Service,
  distinctId: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  try {
    const query = { distinct_id: distinctId };
    const { body } = await service.call('persons.list', { query, priority: 'deletion', signal });
    return readEnvelope(body, rowsOfOneMax).results;
  } catch (error) {
    if (error instanceof AppError && error.status === 414 && distinctId.length >= longFrom) return [];
    throw error;
  }
}
