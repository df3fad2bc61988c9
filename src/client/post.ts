import { request } from 'undici';
import { AppError, systemCode } from '../core/errors.ts';
import { openAgent, proxyRefusal } from './agent.ts';

/** What is posted to a place outside, and the bounds of its answer. */
export type Post = {
  body: string | Uint8Array;
  type: string;
  headers?: Readonly<Record<string, string>>;
  timeoutMs: number;
  bytesMax: number;
};

/**
 * Posts once, without redirects. The body is null where it is longer than `bytesMax`.
 * Throws `unreachable` without an answer in time. The error names neither the address nor a cause: the message of a connection
 * error may hold the address, which may be secret.
 */
export async function post(
  url: string,
  { body, type, headers, timeoutMs, bytesMax }: Post,
  signal: AbortSignal,
): Promise<{ status: number; body: Buffer | null }> {
  // Without one of its own, undici takes the process's, which NODE_USE_ENV_PROXY makes one that follows HTTP_PROXY.
  const dispatcher = openAgent();
  try {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { ...headers, 'content-type': type, 'user-agent': 'analytics-mirror' },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) return { status: response.statusCode, body: null };
      pieces.push(piece);
    }
    return { status: response.statusCode, body: Buffer.concat(pieces) };
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError(proxyRefusal(error) ?? systemCode(error) ?? 'no answer', {
      code: 'unreachable',
      retryable: true,
    });
  } finally {
    await dispatcher.destroy();
  }
}
