import { identifierKinds } from '../../src/contract/identity.ts';
import { fenceMacUnder, hexOf } from '../../src/mirror/fence-mac.ts';

/** What of a list of names a key of a fence finds in a text of MACs (lower-case hex). */
export function guess(key: Buffer, macs: string, names: readonly string[]): string[] {
  const { tagOf, macOf } = fenceMacUnder(() => key);
  const macOfName = (kind: string, name: string): string => macOf(hexOf(tagOf(kind, name) ?? ''));
  return names.filter((name) => identifierKinds.some((kind) => macs.includes(macOfName(kind, name))));
}
