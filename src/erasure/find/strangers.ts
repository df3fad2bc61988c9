import type { Sighting } from '../../contract/identity.ts';
import { askPatiently } from '../ask-service.ts';
import { type AskContext, lookAt, lostOwner } from './start-identities.ts';

/** A person, by uuid and integer id, to whom rows lead, and whom neither a request nor the mirror's persons name. */
export type Stranger = { uuid: string; id: string | null };

/**
 * Prepares the question who of such persons lives: a row of a recording can show the next holder of a device, whom no pass over the
 * persons has stored yet. Null for one who is gone. One of whom no service tells lives, too.
 */
export function meetStrangers(context: AskContext): (stranger: Stranger) => Promise<Sighting | null> {
  let { service } = context;
  return async ({ uuid, id }) => {
    const unknown = { ...lostOwner(uuid), person_id: id };
    const look = service && (await askPatiently(context, service, (...asking) => lookAt(...asking, unknown)));
    if (look === null) service = null;
    if (look === 'gone') return null;
    return look === null || look === 'unknown' ? unknown : look;
  };
}
