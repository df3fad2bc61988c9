import process from 'node:process';
import type { HeldBecauseOf } from '../erasure/request/box.ts';
import { countText } from '../core/words.ts';
import { knownPersons, type KnownAs } from '../mirror/read-rows.ts';
import type { Database } from '../mirror/database.ts';
import { formatTable } from './table.ts';

/** So many rows are shown to whoever has to decide about them. */
const shownMost = 10;

/** The first of `total` rows, as people know them where a terminal shows it; in a pipe by their keys. */
export function rowsText(rows: readonly KnownAs[], total: number, isTerminal = process.stdout.isTTY): string {
  const shown = rows.slice(0, shownMost);
  const table = isTerminal
    ? formatTable(
        ['  id', 'known as'],
        shown.map(({ key, known }) => [`  ${key}`, known]),
      )
    : shown.map(({ key }) => `  ${key}\n`).join('');
  const more = total - shown.length;
  return `${table}${more > 0 ? `  and ${countText(more)} more: --json has them all\n` : ''}`;
}

/** The persons because of which a request is held or would be, for each reason, after what names them. */
export function heldText(what: string, { personsNamed, sharedWith }: HeldBecauseOf, db: Database): string {
  const listOf = (sentence: string, uuids: readonly string[]): string => {
    const known = new Map(knownPersons(db, uuids.slice(0, shownMost)).map((person) => [person.key, person]));
    const rows = uuids.map((key) => known.get(key) ?? { key, known: 'not in the mirror' });
    return `${what} ${sentence}:\n${rowsText(rows, uuids.length)}`;
  };
  return [
    ...(personsNamed.length > 1 ? [listOf(`names ${countText(personsNamed.length)} persons`, personsNamed)] : []),
    ...(sharedWith.length > 0 ? [listOf('shares an identifier with', sharedWith)] : []),
  ].join('');
}
