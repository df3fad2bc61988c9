import fc from 'fast-check';
import type { Sighting } from '../../../src/contract/identity.ts';

/** The few values of a world: so few that rows meet. */
export type FewValues = {
  uuid: fc.Arbitrary<string>;
  personId: fc.Arbitrary<string>;
  distinctIds: fc.Arbitrary<string[]>;
};

/** An address of a few, or none. */
export const email = fc.option(fc.constantFrom('ann@x', 'joann@x'), { nil: undefined });

/** A row of a person. */
export function personRows({
  uuid,
  personId,
  distinctIds,
}: FewValues): fc.Arbitrary<Sighting & { person_uuid: string }> {
  return fc.record({
    person_uuid: uuid,
    person_id: fc.option(personId),
    distinct_ids: distinctIds,
    recording_id: fc.constant(null),
    values: fc.constant<string[]>([]),
    email,
  });
}
