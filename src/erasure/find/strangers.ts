import type { Service } from '../../client/service.ts';
import { askForDistinctId } from '../../client/person-batches.ts';
import type { Sighting } from '../../contract/identity.ts';
import { askPatiently } from '../ask-service.ts';
import { type AskContext, lookAt, lostOwner, readPerson } from './start-identities.ts';
import type { OwnerLook } from './start-plan.ts';

/** A person, as rows show it that lead to it, whom neither a request nor the mirror's persons name. */
export type Stranger = { uuid: string; id: string | null; distinctIds: readonly string[] };

/**
 * Prepares the question who of such persons lives: a row of a recording can show the next holder of a device, whom no pass over the
 * persons has stored yet. Null for one who is gone. A person of whom no service tells counts as living.
 */
export function meetStrangers(context: AskContext): (stranger: Stranger) => Promise<Sighting | null> {
  let { service } = context;
  return async (stranger) => {
    const unknown = { ...lostOwner(stranger.uuid), person_id: stranger.id };
    const look =
      service &&
      (await askPatiently(context, service, async (...asking) => {
        const told = await lookAt(...asking, unknown);
        return told === 'unknown' ? await lookForHolder(...asking, stranger) : told;
      }));
    if (look === null) service = null;
    if (look === 'gone') return null;
    return look === null || look === 'unknown' ? unknown : look;
  };
}

/** Documented services cannot be asked for a uuid. There, who has none of the shown distinct ids any more is gone from the rows. */
async function lookForHolder(
  { signal }: AskContext,
  service: Service,
  { uuid, distinctIds }: Stranger,
): Promise<OwnerLook> {
  let look: OwnerLook = 'unknown';
  for (const distinctId of distinctIds) {
    const [row] = await askForDistinctId(service, distinctId, signal);
    const holder = readPerson(row);
    if (holder?.person_uuid === uuid) return holder;
    if (row === undefined || holder?.distinct_ids.includes(distinctId)) look = 'gone';
  }
  return look;
}
