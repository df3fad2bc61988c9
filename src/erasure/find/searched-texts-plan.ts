import { identifierKinds, type Identity, type Sighting } from '../../contract/identity.ts';
import { readJsonText, textLeaves } from '../../core/exact-json.ts';

/** The texts that scans search for beside identifiers, as plain texts or as JSON, and how many there was no room for. */
export type SearchedTexts = { values: string[]; leftOut: number };

/** The most that a request keeps of its subject's texts: they are held encrypted, and searched for in many forms. */
export const charactersMax = 65_536;

/**
 * Chooses the texts of a subject's rows that scans search for: every text within JSON by itself, each once. Where there is
 * no room for all, each kind of text (plain or JSON, of persons, recordings or unread rows) first gets an even share of the
 * room. Then the room that is left goes to all kinds, and only the texts that do not fit are left out. Identifiers take no
 * room: they are always searched for.
 */
export function planSearchedTexts(
  identity: Identity,
  rows: readonly Pick<Sighting, 'recording_id' | 'values'>[],
  unread: readonly Pick<Sighting, 'values'>[],
  roomMax = charactersMax,
): SearchedTexts {
  const seen = new Set<string>();
  const kinds = new Map<string, Set<string>>();
  const take = (kind: string, values: readonly string[]): void => {
    for (const value of values) {
      const json = readJsonText(value);
      const name = json === undefined ? `${kind} plain` : kind;
      const texts = kinds.get(name) ?? new Set();
      kinds.set(name, texts);
      for (const text of json === undefined ? [value] : textLeaves(json)) {
        if (!seen.has(text)) texts.add(text);
        seen.add(text);
      }
    }
  };
  for (const { recording_id: recording, values } of rows) take(recording === null ? 'person' : 'recording', values);
  for (const { values } of unread) take('unread', values);
  // The identifiers are not made a set: a person can have a million.
  for (const kind of identifierKinds)
    if (kind !== 'person_id')
      for (const value of identity[kind]) if (seen.has(value)) for (const texts of kinds.values()) texts.delete(value);
  for (const [name, texts] of kinds) if (texts.size === 0) kinds.delete(name);
  const share = Math.floor(roomMax / Math.max(kinds.size, 1));
  const chosen = [...kinds.values()].map((texts) => fitting([...texts], share));
  const used = chosen.reduce((sum, { characters }) => sum + characters, 0);
  const more = fitting(
    chosen.flatMap(({ rest }) => rest),
    roomMax - used,
  );
  return { values: [...chosen.flatMap(({ texts }) => texts), ...more.texts].map(asOneText), leftOut: more.rest.length };
}

/** The texts that fit into so many characters, in their order, and those that do not. */
function fitting(texts: readonly string[], room: number): { texts: string[]; rest: string[]; characters: number } {
  const fit: string[] = [];
  const rest: string[] = [];
  let characters = 0;
  for (const text of texts)
    if (characters + text.length > room) rest.push(text);
    else {
      fit.push(text);
      characters += text.length;
    }
  return { texts: fit, rest, characters };
}

/** A text that is JSON by chance is quoted: it is searched for as it is. */
function asOneText(text: string): string {
  return readJsonText(text) === undefined ? text : JSON.stringify(text);
}
