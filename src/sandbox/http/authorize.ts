import type { Scope } from '../../contract/endpoints.ts';
import type { ApiKey, ApiKeys } from '../store/api-keys.ts';
import { Refusal } from './refusal.ts';

/** The key in an `Authorization: Bearer <key>` header, known or not. */
export function bearerKey(header: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(header ?? '')?.[1];
}

/** The key of a request's `Authorization: Bearer <key>` (section 5). Throws a 401 where there is none known. */
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
