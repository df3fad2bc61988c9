import type { HeldBecauseOf } from '../erasure/request/box.ts';

/** The persons, by uuid, because of which a request is held or would be: a line for each reason, after what names them. */
export function heldText(what: string, { personsNamed, sharedWith }: HeldBecauseOf): string {
  const several =
    personsNamed.length > 1 ? `${what}: names ${personsNamed.length} persons: ${personsNamed.join(' ')}\n` : '';
  const shared = sharedWith.length > 0 ? `${what}: shares an identifier with ${sharedWith.join(' ')}\n` : '';
  return `${several}${shared}`;
}
