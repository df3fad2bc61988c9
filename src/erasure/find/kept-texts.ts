import type { Sighting } from '../../contract/identity.ts';
import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import { charactersMax } from './searched-texts-plan.ts';

/** Texts of rows that show the same person: no more of them than could be searched for. */
export type KeptTexts = {
  values: ReadonlySet<string>;
  /** How many texts, at most, there was no room for. */
  dropped: () => number;
  keep: (values: readonly string[]) => void;
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
    return { values, dropped: () => dropped, keep: (more) => more.forEach(keep) };
  };
}
