/** Whether a URL's host name is this machine's own. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * The address of a service as a mirror keeps it, in one spelling. A service on this machine is often started again on another port, so
 * its port is left out.
 */
export function mirroredOrigin(address: string): string {
  const { protocol, hostname, origin } = new URL(address);
  return isLoopback(hostname) ? `${protocol}//${hostname}` : origin;
}

/** What is wrong with an address to which a secret is sent; null if it is right. */
export function httpUrlProblem(value: string): string | null {
  if (!URL.canParse(value)) return 'is not a URL; write it like https://analytics.example.com';
  const url = new URL(value);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'must begin with https:// (http:// is taken only for a loopback address such as 127.0.0.1)';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return null;
}

/** What is wrong with the address of a Postgres database; null if it is right. */
export function postgresUrlProblem(value: string): string | null {
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value))
    return 'must look like postgres://user@host:5432/database?sslmode=verify-full';
  const { hostname, searchParams } = new URL(value);
  const isLocal = hostname === '' || isLoopback(hostname);
  return isLocal || searchParams.get('sslmode') === 'verify-full'
    ? null
    : 'must end with ?sslmode=verify-full: the password would travel readable, or to an impostor';
}
