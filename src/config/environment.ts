import { usageError } from '../core/errors.ts';
import { readPrivateFile } from './private-file.ts';

/** The process environment, as this program reads it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `usage` if this process was told to accept any certificate: an impostor would get the API key. */
export function refuseUnsafeTls(environment: Environment): void {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw usageError(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check of certificates off',
      'unset it; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file',
    );
}

/** The secrets of the whole program. They are not settings, so that printing settings cannot print them. */
export type Secrets = {
  /** The address to which alerts are posted; null if they are not posted. */
  alertWebhook: string | null;
  /** The routing key of the receiver of alerts; null if it has none. */
  alertRoutingKey: string | null;
  /** The address of the cluster's database, with its password; null where the settings have it, or there is none. */
  clusterDatabase: string | null;
  /** The key under which the state of projects is in the bucket of the cluster; null where there is none. */
  clusterKey: Buffer | null;
  /** The seeds of the keys that sign the ledger, the present one and perhaps the next; none where they are elsewhere. */
  signingKeys: readonly Buffer[];
  /** The token that the status page asks for; null if it asks for none. */
  statusToken: string | null;
};

/** The variables that hold secrets. Each has a second form, `…_FILE`, that names a file with the secret. */
export const secretVariables = [
  'MIRROR_API_KEY',
  'MIRROR_ALERT_WEBHOOK',
  'MIRROR_ALERT_ROUTING_KEY',
  'MIRROR_STATUS_TOKEN',
  'MIRROR_SIGNING_KEY',
  'MIRROR_CLUSTER_DATABASE',
  'MIRROR_CLUSTER_KEY',
  'MIRROR_WAREHOUSE_PASSWORD',
] as const;

/** Where a secret of the environment comes from, in words for a message. */
export function secretPlace(environment: Environment, variable: (typeof secretVariables)[number]): string {
  return environment[`${variable}_FILE`] ? `the file that \`${variable}_FILE\` names` : `\`${variable}\``;
}

/** A secret from its file or its variable; null without one. Notes wrong characters. Throws `usage` for a bad file. */
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

/**
 * The signing keys of the environment: one of 64 hex digits, or two with a comma between, the present and the next. None without
 * the variable. Notes what is no key.
 */
export function readSigningKeys(environment: Environment, problems: string[]): Buffer[] {
  const text = readSecret(environment, 'MIRROR_SIGNING_KEY', 'signing key', problems);
  if (text === null) return [];
  if (/^[0-9a-f]{64}(,[0-9a-f]{64})?$/.test(text)) return text.split(',').map((seed) => Buffer.from(seed, 'hex'));
  problems.push('MIRROR_SIGNING_KEY: is no key of 64 hex digits, nor two with a comma between');
  return [];
}

/** The key of the cluster: 64 hex digits; null without the variable. Notes what is no key. */
export function readClusterKey(environment: Environment, problems: string[]): Buffer | null {
  const text = readSecret(environment, 'MIRROR_CLUSTER_KEY', 'key of the cluster', problems);
  if (text !== null && !/^[0-9a-f]{64}$/.test(text)) problems.push('MIRROR_CLUSTER_KEY: is no key of 64 hex digits');
  return text === null ? null : Buffer.from(text, 'hex');
}

/**
 * The secret in a file, which the setting or variable `name` names; null without one. Notes wrong characters, and an empty file:
 * without its token, a page would be open. Throws `usage` as `readPrivateFile` does.
 */
export function readSecretFile(path: string, name: string, what: string, problems: string[]): string | null {
  const secret = checked(readPrivateFile(path, name), name, what, problems);
  if (secret === null) problems.push(`${name}: ${path} is empty`);
  return secret;
}

function checked(text: string, name: string, what: string, problems: string[]): string | null {
  const secret = text.trim();
  // Docker's --env-file and systemd's credentials keep the quotes that a shell would take away.
  if (/^(["']).*\1$/.test(secret)) problems.push(`${name}: the ${what} stands in quotes, which do not belong to it`);
  if (/[^\x21-\x7e]/.test(secret))
    problems.push(`${name}: the ${what} holds a space or another character that no ${what} has`);
  return secret === '' ? null : secret;
}
