import type { Scope } from '../../contract/endpoints.ts';
import type { ApiKey, ApiKeys } from '../store/api-keys.ts';
import { Refusal } from './answer.ts';

/** The key in an `Authorization: Bearer <key>` header, known or not. */
function bearerKey(header: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(header ?? '')?.[1];
}

/** The key in a request's `Authorization: Bearer <key>` (section 5). Throws a 401 for a missing or unknown key. */
export function authenticate(header: string | undefined, apiKeys: Pick<ApiKeys, 'find'>): ApiKey {
  const key = bearerKey(header);
  if (key === undefined) {
    throw new Refusal('notAuthenticated', 'Authentication credentials were not provided.');
  }
  const apiKey = apiKeys.find(key);
  if (!apiKey) throw new Refusal('authenticationFailed', 'Personal API key found in request is invalid.');
  return apiKey;
}

/** Throws a 403 that names the scope, unless the key has it. `:write` includes `:read`; null needs none. */
export function requireScope({ scopes }: ApiKey, required: Scope | null): void {
  if (required === null || scopes.includes(required)) return;
  const [object, action] = required.split(':');
  if (action === 'read' && scopes.some((scope) => scope === `${object}:write`)) return;
  throw new Refusal('permissionDenied', `API key missing required scope '${required}'`);
}

export type KeyIndexes = ReturnType<typeof keyIndexes>;

/** Numbers the keys, so that a log need not hold them: first those in `first`, then others as they are used. */
export function keyIndexes(apiKeys: Pick<ApiKeys, 'find'>, first: readonly string[]) {
  const indexes = new Map(first.map((key, index) => [key, index]));
  return {
    /** The number of the key in an `Authorization` header; null for none or an unknown one. */
    of(header: string | undefined): number | null {
      const key = bearerKey(header);
      if (key === undefined || !apiKeys.find(key)) return null;
      const index = indexes.get(key) ?? indexes.size;
      indexes.set(key, index);
      return index;
    },
  };
}
