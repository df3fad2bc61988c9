import { AppError } from '../core/errors.ts';

/** The process environment, as this program reads it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `usage` when this process was told to believe any certificate: the key would go to whoever asks. */
export function refuseUnsafeTls(environment: Environment): void {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new AppError('NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check of certificates off', {
      code: 'usage',
      hint: 'unset it; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file',
    });
}
