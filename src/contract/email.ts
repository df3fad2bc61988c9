import { isJsonObject } from '../core/exact-json.ts';

/** A text without the blanks at its edges: any white space of Unicode, and the byte order mark. Looks at each once. */
export function trimBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text.charAt(from))) from += 1;
  while (from < to && isBlank(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function isBlank(character: string): boolean {
  return character === '\u0085' || character.trim() === '';
}

/** A longer text is no address (RFC 5321 allows 254 bytes), and is compared by its lower case alone. */
const emailCharactersMax = 10_000;

/**
 * The one spelling in which e-mail addresses are compared: without blanks at the edges, and as Unicode compares texts
 * without case (simple case folding, canonical forms, written in NFC). Compatibility forms stay apart: RFC 6532 has mail
 * systems keep them, so they are other addresses. So does a letter that only full case folding makes two of: `ß` and `ss`
 * are two domains (IDNA 2008), and can be two persons.
 */
export function emailKey(email: string): string {
  const trimmed = trimBlanks(email);
  if (trimmed.length > emailCharactersMax || /^[\0-\x7f]*$/.test(trimmed)) return trimmed.toLowerCase();
  return Array.from(trimmed.normalize('NFD'), foldCase).join('').normalize('NFC');
}

/** The property `email` of a person, as `emailKey` spells it; undefined where it is no text, or a blank one. */
export function emailOf(person: unknown): string | undefined {
  const properties = isJsonObject(person) ? person['properties'] : undefined;
  const email = isJsonObject(properties) ? properties['email'] : undefined;
  const key = typeof email === 'string' ? emailKey(email) : '';
  return key === '' ? undefined : key;
}

/** Simple case folding of a character. Upper case and back folds all but the dotless i, which stays another letter. */
function foldCase(character: string): string {
  const upper = character.toUpperCase();
  return character === 'ı' || Array.from(upper).length > 1 ? character.toLowerCase() : upper.toLowerCase();
}
