import { AppError } from '../core/errors.ts';
import { isoTime } from '../core/clock.ts';
import { httpDateMs } from '../core/time.ts';
import { secondText } from '../core/words.ts';
import { denialText, harmlessWords, namedScopes, saysNotFound } from '../contract/error-body.ts';
import { endpoints, type Endpoint } from '../contract/endpoints.ts';

/** How long an answer asks to wait, from `nowMs` on, and the longest such wait that is obeyed after a 429. */
export type AskedWait = { retryAfterMs: number | undefined; retryAfterMaxMs: number; nowMs: number };

/** An answer that was not a success. */
export type Refusal = AskedWait & {
  status: number;
  body: unknown;
  /** The path that was asked for, and where a redirect leads. */
  path?: string;
  location?: string | undefined;
  /** Whether it comes out of a cache: a 404 of before says nothing of now. */
  isCached?: boolean | undefined;
  /** What to do where the key is refused. */
  keyAdvice?: string | undefined;
  /** The parameters that a setting has added to the question. */
  extraNames?: readonly string[];
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
      hint: refusal.keyAdvice ?? 'check the API key',
    });
  if (status === 402)
    return new AppError(`the account at the service has used up its quota (${answered})`, {
      code: 'quota',
      status,
      hint: "raise the quota or settle the bill in the service's own settings, or wait until the quota begins again",
    });
  if (status === 403) {
    const [scope] = namedScopes(body);
    // A denial that names no scope has another cause, and says it in its own words.
    const said = scope === undefined ? denialText(body) : undefined;
    const missing = missingScope(scope ?? endpoint.scope ?? endpoint.liveScope ?? null);
    // A service answers in JSON, of whatever shape; a firewall with a page.
    if (typeof body === 'string')
      return new AppError(`a 403 that is not in the service's own words (${answered})`, {
        code: 'service',
        status,
        isForeign: true,
        hint: `a firewall or proxy may stand before the service, and block the address or this machine: let it pass; else ${missing}`,
      });
    return new AppError(`the API key may not do this (${answered}${said === undefined ? '' : `, “${said}”`})`, {
      code: 'refused',
      finding: 'scope_missing',
      status,
      hint: said === undefined ? missing : otherCauses,
    });
  }
  const isForeign = status === 404 ? refusal.isCached || !saysNotFound(body) : typeof body === 'string';
  if (status === 404 && isList)
    return new AppError(`the service knows no such project (${answered})`, {
      code: 'refused',
      finding: 'project_unknown',
      status,
      isForeign,
      hint: 'check service.projectId (MIRROR_PROJECT_ID) and service.pathPrefix, which is /api/projects at live services',
    });
  if (status >= 300 && status < 400) {
    const { to, hint } = readRedirect(endpoint, refusal);
    return new AppError(
      `the service redirects${to} (${answered}); redirects are not followed, so that the key stays with one host`,
      { code: 'service', status, hint },
    );
  }
  if (status === 429 && retryAfterMs !== undefined && retryAfterMs > refusal.retryAfterMaxMs) {
    const isAges = retryAfterMs > 100 * yearMs;
    const wait = isAges ? 'for more than 100 years' : `until ${secondText(isoTime(refusal.nowMs + retryAfterMs))}`;
    return new AppError(`the service asks to wait ${wait}, which is too long (${answered})`, {
      code: 'service',
      status,
      hint: 'run it again after that; retry.retryAfterMaxMs is the longest wait that is obeyed',
    });
  }
  if (status === 429 || status >= 500)
    return new AppError(`the service is not ready (${answered})`, {
      code: 'service',
      status,
      retryable: true,
      hint: `try again later${status === 429 ? '; if it comes each time, lower budget.windows' : ''}`,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  if (status === 404 && isForeign)
    return new AppError(
      `a 404 that is ${refusal.isCached ? 'out of a cache' : "not in the service's own words"} (${answered})`,
      {
        code: 'rejected',
        status,
        isForeign,
        hint: 'a proxy may stand before the service, without a route for the call; check service.baseUrl and service.pathPrefix',
      },
    );
  return new AppError(`the service rejects the request (${answered})`, {
    code: 'rejected',
    status,
    isForeign,
    hint: status === 404 ? 'nothing is there under this identifier' : rejectionHint(endpoint, refusal.extraNames ?? []),
  });
}

function rejectionHint({ path }: Endpoint, extraNames: readonly string[]): string {
  return path === endpoints['recordings.list'].path && extraNames.length > 0
    ? `check the setting recordings.query, which adds ${extraNames.join(', ')} to the question`
    : 'check what was sent';
}

function missingScope(scope: string | null): string {
  return scope === null
    ? 'give the key access to the project'
    : `give the key the scope ${scope}, and access to the project`;
}

/** What a 403 can mean besides a missing scope. */
const otherCauses =
  'the words of the service say what is missing: a key may be limited to other projects, an organisation may forbid the keys of its members, and the user of the key may lack access';

/**
 * `Retry-After` (seconds or a date) in milliseconds from now; undefined if there is none, or it is wrong. `date` is the answer's
 * own: both times of such an answer are by the service's clock.
 */
export function parseRetryAfterMs(
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const [atMs, sentAtMs] = [httpDateMs(value), httpDateMs(date ?? '')];
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - (Number.isNaN(sentAtMs) ? nowMs : sentAtMs));
}

const yearMs = 365 * 86_400_000;

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
