import { isoTime } from '../core/clock.ts';
import { httpDateMs } from '../core/time.ts';

/** That a service declares its address deprecated. Times are ISO 8601 UTC; null where the service names none. */
export type Deprecation = { since: string | null; sunsetAt: string | null };

/**
 * Reads the headers `Deprecation` (RFC 9745, and its drafts: `@seconds`, an HTTP date, or `true`) and `Sunset` (RFC 8594: an
 * HTTP date). Null where neither is there, or both say that nothing is deprecated.
 */
export function parseDeprecation(deprecation: string | undefined, sunset: string | undefined): Deprecation | null {
  const isDeclared = deprecation !== undefined && !['', 'false', '?0'].includes(deprecation.trim().toLowerCase());
  if (!isDeclared && sunset === undefined) return null;
  return { since: isDeclared ? timeOf(deprecation) : null, sunsetAt: timeOf(sunset ?? '') };
}

function timeOf(text: string): string | null {
  const seconds = /^\s*@(\d{1,11})\b/.exec(text)?.[1];
  const atMs = seconds === undefined ? httpDateMs(text) : Number(seconds) * 1000;
  return Number.isFinite(atMs) ? isoTime(atMs) : null;
}

/** What to do about it, where `pathPrefix` is the beginning of the paths that are asked for. */
export function deprecationHint(pathPrefix: string): string {
  return pathPrefix === '/api/environments'
    ? 'set service.pathPrefix: /api/projects'
    : "set service.baseUrl and service.pathPrefix to the address that the service's documentation names in its place";
}
