import type { Endpoint } from '../contract/endpoints.ts';
import { usageError } from '../core/errors.ts';

/**
 * The path before that of an endpoint. Projects are listed beside the prefix's last segment: `/api/projects` for
 * `/api/environments/1`. Throws `usage` where no project is configured.
 */
export function basePath({ isOutsideProjects }: Endpoint, projectPath: string): string {
  if (isOutsideProjects) return projectPath.replace(/(?:\/[^/]*){2}$/, '');
  if (!projectPath.endsWith('/')) return projectPath;
  throw usageError(
    'not configured: the project (service.projectId, MIRROR_PROJECT_ID)',
    '`analytics-mirror call projects.list` lists the projects that the key sees',
  );
}

/** An endpoint's path with its parameters. Throws `usage` for a value that would change the path. */
export function fillPath({ method, path }: Endpoint, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:(\w+)/g, (_match, name: string) => {
    const value = params[name];
    const text = value === undefined ? '' : parameterText(value);
    if (['', '.', '..'].includes(text) || !text.isWellFormed())
      throw usageError(
        `${method} ${path} needs a path parameter ${name} that can stand in a path`,
        'give the identifier as the service shows it',
      );
    return encodeURIComponent(text);
  });
}

/** A query without its flags that are false. Live services read a flag by its presence: `delete_events=false` deletes the events. */
export function withoutFalse(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== false));
}

/** A query as the end of a path; empty for none. */
export function queryText(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, parameterText(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}

function parameterText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
