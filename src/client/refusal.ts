import { AppError } from '../core/errors.ts';
import { httpDateMs } from '../core/time.ts';
import { harmlessWords } from '../contract/error-body.ts';
import { endpoints, type Endpoint } from '../contract/endpoints.ts';

/** An answer that was not a success. */
export type Refusal = {
  status: number;
  body: unknown;
  retryAfterMs: number | undefined;
  /** The path that was asked for, and where a redirect leads. */
  path?: string;
  location?: string | undefined;
};

/**
 * The error for an answer that was not a success. The status decides, never the text of the answer. Of the
 * service's words only known codes, scopes and field names are shown: any other word may name a person.
 */
export function refusalError(endpoint: Endpoint, refusal: Refusal): AppError {
  const { status, body, retryAfterMs } = refusal;
  const call = `${endpoint.method} ${endpoint.path}`;
  const words = harmlessWords(body);
  const answered = `${call} answered ${status}${words === '' ? '' : `: ${words}`}`;
  const isList = !endpoint.path.includes(':') && !endpoint.isOutsideProjects;
  if (status === 401)
    return new AppError(`the service refuses the API key (${answered})`, {
      code: 'refused',
      finding: 'key_refused',
      status,
      hint: 'check MIRROR_API_KEY or the file that MIRROR_API_KEY_FILE names; a personal API key is needed',
    });
  if (status === 402)
    return new AppError(`the account at the service has used up its quota (${answered})`, {
      code: 'quota',
      status,
      hint: "raise the quota or settle the bill in the service's own settings, or wait until the quota begins again",
    });
  if (status === 403) {
    const scope = endpoint.scope ?? endpoint.liveScope;
    return new AppError(`the API key may not do this (${answered})`, {
      code: 'refused',
      finding: 'scope_missing',
      status,
      hint: scope ? `give the key the scope ${scope}, and access to the project` : 'give the key access to the project',
    });
  }
  if (status === 404 && isList)
    return new AppError(`the service knows no such project (${answered})`, {
      code: 'refused',
      finding: 'project_unknown',
      status,
      hint: 'check service.projectId (MIRROR_PROJECT_ID) and service.pathPrefix',
    });
  if (status >= 300 && status < 400) {
    const { to, hint } = readRedirect(endpoint, refusal);
    return new AppError(
      `the service redirects${to} (${answered}); redirects are not followed, so that the key stays with one host`,
      { code: 'service', status, hint },
    );
  }
  if (status === 429 || status >= 500)
    return new AppError(`the service is not ready (${answered})`, {
      code: 'service',
      status,
      retryable: true,
      hint: status === 429 ? 'lower budget.windows: others use the same limit' : 'try again later',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  return new AppError(`the service rejects the request (${answered})`, {
    code: 'rejected',
    status,
    hint: status === 404 ? 'nothing is there under this identifier' : 'check what was sent',
  });
}

/** `Retry-After` (seconds or a date) as ms from now; undefined if there is none, or it is wrong or too long. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number, longestMs: number): number | undefined {
  const waitMs = value === undefined ? undefined : readRetryAfterMs(value, nowMs);
  return waitMs !== undefined && waitMs <= longestMs ? waitMs : undefined;
}

function readRetryAfterMs(value: string, nowMs: number): number | undefined {
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const atMs = httpDateMs(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** The words of a path that cannot name a person. */
const pathWords: ReadonlySet<string> = new Set([
  '',
  'api',
  'projects',
  'environments',
  'login',
  ...Object.values(endpoints).flatMap(({ path }) => path.split('/').filter((word) => !word.startsWith(':'))),
]);

/** Where a redirect leads, and what to set. Of the address only the known words of its path are shown. */
function readRedirect({ path }: Endpoint, { path: asked, location }: Refusal): { to: string; hint: string } {
  const base = 'http://service';
  const other = 'set service.baseUrl and service.pathPrefix to the address that the service really answers on';
  if (location === undefined || !URL.canParse(location, base)) return { to: '', hint: other };
  const { pathname } = new URL(location, base);
  const words = pathname.split('/').map((word) => (pathWords.has(word) ? word : '…'));
  const to = ` to ${words.slice(0, 12).join('/')}`;
  const form = new RegExp(`^((?:/[^/]+)+)/[^/]+${path.replaceAll(/:\w+/g, '[^/]+')}/?$`);
  const prefix = form.exec(pathname)?.[1];
  if (prefix === undefined || !prefix.split('/').every((word) => pathWords.has(word))) return { to, hint: other };
  return prefix === form.exec(new URL(asked ?? '', base).pathname)?.[1]
    ? { to, hint: 'set service.baseUrl to the host that the service really answers on' }
    : { to, hint: `set service.pathPrefix: ${prefix}` };
}
