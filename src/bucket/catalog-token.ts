import { z } from 'zod';
import { post } from '../client/post.ts';
import { readPrivateFile } from '../config/private-file.ts';
import type { Settings } from '../config/settings.ts';
import { AppError, usageError } from '../core/errors.ts';

/** A token is sent in a header: it is printable ASCII without blanks. */
const tokenForm = /^[\x21-\x7e]+$/;
const Granted = z.looseObject({ access_token: z.string().regex(tokenForm), token_type: z.string().regex(/^bearer$/i) });
const bounds = { timeoutMs: 10_000, bytesMax: 100_000 };

/**
 * The token that the catalog is shown: what `tokenFile` holds, or one that is granted now to the client of `clientFile` (RFC 6749,
 * section 4.4, in the form that Iceberg's clients send); null where the settings name neither. Throws `usage` for a file that cannot be
 * used; `refused`, `service` or `unreachable` where no token is granted. No error holds what the file or the answer says.
 */
export async function catalogToken(
  { uri, tokenFile, clientFile, tokenUri, scope }: Settings['export']['catalog'] & { uri: string },
  signal: AbortSignal,
): Promise<string | null> {
  if (tokenFile !== null) {
    const token = readPrivateFile(tokenFile, 'export.catalog.tokenFile').trim();
    if (tokenForm.test(token)) return token;
    throw unfit('tokenFile: the file does not hold one token', 'write the token alone into it, in one line');
  }
  if (clientFile === null) return null;
  const [, id, secret] = /^([^:\s]+):(\S+)\s*$/.exec(readPrivateFile(clientFile, 'export.catalog.clientFile')) ?? [];
  if (id === undefined || secret === undefined)
    throw unfit(
      'clientFile: the file does not hold one line such as id:secret',
      'write id, a colon and secret into it',
    );
  const where = tokenUri ?? `${uri.replace(/\/$/, '')}/v1/oauth/tokens`;
  const asked = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const form = new URLSearchParams({ ...asked, ...(scope === null ? {} : { scope }) });
  const failed = (code: 'refused' | 'service' | 'unreachable', says: string, retryable: boolean): AppError =>
    new AppError(`the place that grants tokens for the catalog, ${where}, ${says}`, {
      code,
      retryable,
      hint: 'see export.catalog.clientFile, tokenUri and scope, and that the client may register and drop tables',
    });
  const sent = { body: form.toString(), type: 'application/x-www-form-urlencoded', ...bounds };
  const { status, body } = await post(where, sent, signal).catch((error: unknown): never => {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    throw failed('unreachable', 'does not answer', true);
  });
  if (status >= 400 && status < 500 && status !== 429) throw failed('refused', `answers with ${status}`, false);
  if (status >= 300) throw failed('service', `answers with ${status}`, true);
  try {
    return Granted.parse(JSON.parse(String(body))).access_token;
  } catch {
    throw failed('service', 'gives no bearer token', false);
  }
}

function unfit(what: string, hint: string): AppError {
  return usageError(`export.catalog.${what}`, hint);
}
