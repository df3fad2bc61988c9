import { isLoopback } from '../config/addresses.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import { keyAdvice } from './key-advice.ts';

/** A service's address without a path, and the project in it. */
type ConfiguredProject = { origin: string; projectId: string };

/**
 * The project that a mirror is of. A service on this machine is often started again on another port, so its port is left out.
 * Throws `usage` with everything that is not configured.
 */
export function mirroredProject(settings: Settings, apiKey: string | null): ConfiguredProject {
  const { origin, projectId } = requireProject(settings, apiKey);
  const { protocol, hostname } = new URL(origin);
  return { origin: isLoopback(hostname) ? `${protocol}//${hostname}` : origin, projectId };
}

/**
 * The service without a project, which is enough to list the projects, and what to do where it refuses the key. `keyFrom`: the key's
 * place, in words. Throws `usage` with everything that is not configured.
 */
export function requireService(
  settings: Settings,
  { apiKey, keyFrom }: { apiKey: string | null; keyFrom: string },
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
    throw new AppError(`not configured: ${missing.join(', ')}`, {
      code: 'usage',
      hint: 'set what is missing; `analytics-mirror sandbox` serves a project to try things on',
    });
  return { origin: new URL(baseUrl).origin, projectId, key: apiKey };
}
