import { identifierKinds, type Identity, type Sighting } from '../../contract/identity.ts';
import { readJsonText, textLeaves } from '../../core/exact-json.ts';

/** The most that a request keeps of its subject's texts: they are held encrypted, and searched for in many forms. */
const charactersMax = 65_536;

/**
 * Chooses the texts of a subject's rows that scans search for, as plain texts or as JSON: every text within JSON by itself, each
 * once. Where there is no room for all, each kind of text (plain or JSON, of persons, recordings or unread rows) first gets an even
 * share of the room. Then the room that is left goes to all kinds, and only the texts that do not fit are left out (`leftOut`: how
 * many). Identifiers take no room: they are always searched for.
 */
export function planSearchedTexts(
  identity: Identity,
  rows: readonly Pick<Sighting, 'recording_id' | 'values'>[],
  unread: readonly Pick<Sighting, 'values'>[],
  roomMax = charactersMax,
): { values: string[]; leftOut: number } {
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

/** Texts of rows that show the same person: no more of them than could be searched for. */
export type KeptTexts = {
  values: ReadonlySet<string>;
  /** How many texts, at most, there was no room for. */
  dropped: () => number;
  /** `leftOut`: how many texts the row has beside these. */
  keep: (values: readonly string[], leftOut?: number) => void;
};

/** More than one subject's room: each kind of text gets its share of that. */
const roomMax = 4 * charactersMax;
/** The last texts without room are remembered, since rows repeat them. */
const rememberedMax = 1000;

/** Prepares the keeping of texts. All rows of one person, in whatever way they show the person, have one room. */
export function keepTexts(): (person: Sighting) => KeptTexts {
  const rooms = new Map<string, { used: number; held: Set<string> }>();
  return ({ person_uuid: uuid, person_id: id, distinct_ids: [distinctId = ''] }) => {
    const name = uuid ?? id ?? distinctId;
    const room = rooms.get(name) ?? { used: 0, held: new Set() };
    rooms.set(name, room);
    const values = new Set<string>();
    const remembered = new Set<string>();
    let dropped = 0;
    const keep = (value: string): void => {
      if (values.has(value) || remembered.has(value)) return;
      if (!room.held.has(value)) {
        if (room.used >= roomMax) {
          if (remembered.size === rememberedMax) remembered.clear();
          remembered.add(value);
          const json = readJsonText(value);
          dropped += json === undefined ? 1 : [...textLeaves(json)].length;
          return;
        }
        room.used += value.length;
        room.held.add(value);
      }
      values.add(value);
    };
    return {
      values,
      dropped: () => dropped,
      keep: (more, leftOut = 0) => {
        // Rows repeat their texts: what is left out of them counts once.
        if (leftOut > 0 && !more.every((value) => values.has(value) || remembered.has(value))) dropped += leftOut;
        more.forEach(keep);
      },
    };
  };
}
