import { sha256 } from '../../core/digest.ts';

/** The uuid of a person that comes into being while the service runs: of version 4's form, the same each time. */
export function derivedUuid(seed: number, personId: number): string {
  const hex = sha256(`person ${seed} ${personId}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-a${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
}
