import { AppError } from '../core/errors.ts';
import { readText } from './settings-tree.ts';

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

/** What is secret to the whole program. Apart from the settings, so that printing settings cannot print it. */
export type Secrets = {
  /** Where alerts are posted to; null where they are not. */
  alertWebhook: string | null;
  /** What the status page asks for; null where it asks for nothing. */
  statusToken: string | null;
};

/** The variables that secrets come from; each has a twin `…_FILE` that names a file with the secret. */
export const secretVariables = ['MIRROR_API_KEY', 'MIRROR_ALERT_WEBHOOK', 'MIRROR_STATUS_TOKEN'] as const;

/**
 * A secret from its file, or else from its variable; null where there is none. One that holds what no such secret has
 * becomes a problem, without its text. Throws `usage` for a file that cannot be read.
 */
export function readSecret(
  environment: Environment,
  variable: (typeof secretVariables)[number],
  what: string,
  problems: string[],
): string | null {
  const file = environment[`${variable}_FILE`];
  if (file) return readSecretFile(file, `${variable}_FILE`, what, problems);
  return checked(environment[variable] ?? '', variable, what, problems);
}

/** The secret in a file; `name` says in problems where it is named. Throws `usage` for a file that cannot be read. */
export function readSecretFile(path: string, name: string, what: string, problems: string[]): string | null {
  return checked(readText(path, name), name, what, problems);
}

function checked(text: string, name: string, what: string, problems: string[]): string | null {
  const secret = text.trim();
  if (/[^\x21-\x7e]/.test(secret))
    problems.push(`${name}: the ${what} holds a space or another character that none has`);
  return secret === '' ? null : secret;
}
