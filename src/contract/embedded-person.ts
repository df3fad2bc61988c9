import { cleanText } from '../core/clean-json.ts';
import { AppError } from '../core/errors.ts';
import { emailOf } from './email.ts';
import { type JsonObject, integerText, isJsonObject, parseExactJson } from '../core/exact-json.ts';

/** The identifiers of a person embedded in a recording (section 2.5), its name, and when it was created, where it says so. */
export type EmbeddedPerson = {
  id: string | null;
  distinctIds: string[];
  name: string | undefined;
  email: string | undefined;
  createdAt: string | undefined;
};

/** The identifiers in a recording's `person`; none without a person. Throws `storage` for a text that is not JSON. */
export function embeddedPerson(text: string | null): EmbeddedPerson {
  const person = personOf(text);
  return {
    id: integerText(person?.['id']) ?? null,
    distinctIds: listOf(person).filter(isText),
    name: isText(person?.['name']) ? person['name'] : undefined,
    email: emailOf(person),
    createdAt: isText(person?.['created_at']) ? person['created_at'] : undefined,
  };
}

/**
 * Removes distinct ids from a recording's `person` and keeps all else exactly. Returns undefined if it has none of them. A
 * single id that is not in a list becomes null, and so does a name that is one: services show a person without properties by
 * it. Throws `storage` for a text that is not JSON.
 */
export function withoutDistinctIds(text: string | null, isGone: (id: string) => boolean): string | undefined {
  const person = personOf(text);
  const listed = listOf(person);
  const kept = listed.filter((id) => !isText(id) || !isGone(id));
  const name = person?.['name'];
  const isNamed = isText(name) && isGone(name);
  if (kept.length === listed.length && !isNamed) return undefined;
  const list = Array.isArray(person?.['distinct_ids']) ? kept : null;
  return JSON.stringify({
    ...person,
    ...(isNamed ? { name: null } : {}),
    ...(kept.length === listed.length ? {} : { distinct_ids: list }),
  });
}

/** Distinct ids as a published JSON column can spell them: as they are, and as `cleanText` has them. */
export function spelledInJson(ids: readonly string[]): string[] {
  return ids.flatMap((id) => [id, ...(cleanText(id) === id ? [] : [cleanText(id)])]);
}

function personOf(text: string | null): JsonObject | undefined {
  if (text === null) return undefined;
  try {
    const person: unknown = parseExactJson(text);
    return isJsonObject(person) ? person : undefined;
  } catch {
    // The parser's message quotes the text, which is personal data. So it must not become the cause.
    throw new AppError('the person of a recording is not JSON', {
      code: 'storage',
      hint: 'restore the file that holds it from a backup, or export recordings again',
    });
  }
}

function listOf(person: JsonObject | undefined): unknown[] {
  const ids = person?.['distinct_ids'];
  return Array.isArray(ids) ? ids : [ids];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
