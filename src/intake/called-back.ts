import { post } from '../client/post.ts';
import { readSecretFile } from '../config/environment.ts';
import type { Sender } from '../config/sender.ts';
import { AppError, usageError } from '../core/errors.ts';
import type { CalledBack, Message } from './callbacks.ts';

/** The senders that are called back, with their secrets. Throws `usage` for a secret that is none. */
export function readCalledBack(senders: readonly Sender[]): CalledBack[] {
  const problems: string[] = [];
  const found = senders.flatMap(({ name, outcome, callback }): CalledBack[] => {
    if (callback === null) return [];
    const setting = `intake.senders: callback.secretFile of ${name}`;
    const text = readSecretFile(callback.secretFile, setting, 'secret', problems) ?? '';
    const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/.exec(text) ?? [];
    if (encoded === '') problems.push(`${setting}: is no secret such as whsec_ and 24 to 64 bytes in base64`);
    return [{ name, outcome, url: callback.url, secret: Buffer.from(encoded, 'base64') }];
  });
  if (problems.length === 0) return found;
  throw usageError(
    problems.join('\n'),
    'make one with `echo whsec_$(openssl rand -base64 32)`, and give it to the receiver of the callbacks',
  );
}

/** Sends a call once. Throws where it was not accepted; the error names no address. */
export async function callBack(
  { url }: Pick<CalledBack, 'url'>,
  { body }: Message,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const bounds = { timeoutMs: 10_000, bytesMax: 10_000 };
  const { status } = await post(url, { body, type: 'application/json', headers, ...bounds }, signal);
  if (status >= 200 && status < 300) return;
  throw new AppError(`a callback was answered with ${status}`, {
    code: 'service',
    hint: 'see the receiver of the callbacks',
  });
}
