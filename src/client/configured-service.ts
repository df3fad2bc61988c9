import { mirroredOrigin } from '../config/addresses.ts';
import type { ConfiguredKey } from '../config/projects.ts';
import type { Settings } from '../config/settings.ts';
import { usageError } from '../core/errors.ts';

/** A service's address without a path, and the project in it. */
type ConfiguredProject = { origin: string; projectId: string };

/** The project that a mirror is of. Throws `usage` with everything that is not configured. */
export function mirroredProject(settings: Settings, apiKey: string | null): ConfiguredProject {
  const { origin, projectId } = requireProject(settings, apiKey);
  return { origin: mirroredOrigin(origin), projectId };
}

/**
 * The service without a project, which is enough to list the projects, and what to do where it refuses the key. `keyFrom`: the key's
 * place, in words. Throws `usage` with everything that is not configured.
 */
export function requireService(
  settings: Settings,
  { apiKey, keyFrom }: ConfiguredKey,
): { origin: string; key: string; keyAdvice: string } {
  const { baseUrl } = settings.service;
  const { origin, key } =
    baseUrl === null || apiKey === null
      ? requireProject(settings, apiKey)
      : { origin: new URL(baseUrl).origin, key: apiKey };
  return { origin, key, keyAdvice: keyAdvice({ key, keyFrom, origin }) };
}

function requireProject(settings: Settings, apiKey: string | null): ConfiguredProject & { key: string } {
  const { baseUrl, projectId } = settings.service;
  const missing = [
    ...(baseUrl === null ? ['the address of the service (service.baseUrl, MIRROR_BASE_URL)'] : []),
    ...(projectId === null ? ['the project (service.projectId, MIRROR_PROJECT_ID)'] : []),
    ...(apiKey === null ? ['the API key (MIRROR_API_KEY or MIRROR_API_KEY_FILE)'] : []),
  ];
  if (baseUrl === null || projectId === null || apiKey === null)
    throw usageError(
      `not configured: ${missing.join(', ')}`,
      'set what is missing; `analytics-mirror sandbox` serves a project to try things on',
    );
  return { origin: new URL(baseUrl).origin, projectId, key: apiKey };
}

/** Keys that a service gives out for something else, by how they begin. */
const otherKeys: Readonly<Record<string, string>> = {
  phc_: 'the configured key (phc_…) is that of a project, which only sends events',
  phs_: 'the configured key (phs_…) is the secret key of a project, which only reads feature flags',
};

/** What to do where the service at an address refuses a key. `keyFrom`: its place, in words. Of the key only its kind is told. */
export function keyAdvice({ key, keyFrom, origin }: { key: string; keyFrom: string; origin: string }): string {
  const [, isOther] = Object.entries(otherKeys).find(([prefix]) => key.startsWith(prefix)) ?? [];
  const region = /^https:\/\/(us|eu)\.(?:i\.)?posthog\.com$/.exec(origin)?.[1];
  return [
    `check ${keyFrom}`,
    `${isOther === undefined ? '' : `${isOther}: `}a personal API key is needed`,
    ...(region === undefined
      ? []
      : [`an account of ${region === 'us' ? 'eu' : 'us'}.posthog.com is unknown at ${region}.posthog.com`]),
  ].join('; ');
}
