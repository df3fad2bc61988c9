import { emailKey } from '../../contract/email.ts';
import type { Sighting } from '../../contract/identity.ts';
import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import type { GivenIdentifier } from '../request/box.ts';

/** The rows held that show an e-mail address, by its key. */
export type EmailRows = ReadonlyMap<string | undefined, readonly Sighting[]>;

/** The e-mail addresses among given identifiers, as `emailKey` spells them. */
export function emailsOf(given: readonly GivenIdentifier[]): string[] {
  return given.flatMap(({ kind, value }) => (kind === 'email' ? emailKey(value) : []));
}

/** An address is asked for in so many spellings at the most. */
const spellingsMax = 20;

/**
 * What the service is asked for. It compares an e-mail address letter by letter, so that each spelling is a question of its own: as
 * given, in lower case, and as any row held shows it.
 */
export function questionsOf(given: readonly GivenIdentifier[], rowsOf: EmailRows): GivenIdentifier[] {
  const questions = given.flatMap(({ kind, value }): GivenIdentifier[] => {
    if (kind !== 'email') return [{ kind, value }];
    const key = emailKey(value);
    const spellings = new Set([value, key, value.toLowerCase()]);
    for (const { values } of rowsOf.get(key) ?? [])
      for (const leaf of textLeaves(values.map((text) => readJsonText(text) ?? text)))
        if (emailKey(leaf) === key) spellings.add(leaf);
    return [...spellings].slice(0, spellingsMax).map((spelling) => ({ kind, value: spelling }));
  });
  return [...new Map(questions.map((each) => [`${each.kind} ${each.value}`, each])).values()];
}
