import { documentedPathPrefix } from '../../src/contract/endpoints.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';

/** A small sandbox in memory with hostile values, on a port of its own; closed when its scope ends. */
export async function smallSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox & AsyncDisposable> {
  const sandbox = await startSandbox({ persons: 60, recordings: 12, seed: 7, port: 0, hostile: true, ...options });
  return { ...sandbox, [Symbol.asyncDispose]: () => sandbox.close() };
}

export type Ask = { method?: string; body?: unknown; key?: string | null };
export type Answer = { status: number; headers: Headers; text: string };

/** Asks for a path below the project, with the full key unless another (or null for none) is given. */
export async function ask(sandbox: Sandbox, path: string, { method = 'GET', body, key }: Ask = {}): Promise<Answer> {
  return askUrl(`${sandbox.url}${documentedPathPrefix}/${sandbox.projectId}${path}`, {
    method,
    body,
    key: key === undefined ? sandbox.apiKey : key,
  });
}

/** Asks for a URL. A body that is a string is sent as it is, any other as JSON. */
export async function askUrl(url: string, { method = 'GET', body, key = null }: Ask = {}): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: key === null ? {} : { Authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** A clock that stands at the given time until it is set. */
export function standingClock(iso: string) {
  let nowMs = Date.parse(iso);
  return {
    now: () => nowMs,
    sleep: () => Promise.resolve(),
    set: (time: string) => {
      nowMs = Date.parse(time);
    },
  };
}

export type ListBody<Row> = { count: number; next: string | null; previous: string | null; results: Row[] };
