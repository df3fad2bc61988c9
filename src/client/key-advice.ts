/** Keys that a service gives out for something else, by how they begin. */
const otherKeys: Readonly<Record<string, string>> = {
  phc_: 'the configured key (phc_…) is that of a project, which only sends events',
  phs_: 'the configured key (phs_…) is the secret key of a project, which only reads feature flags',
};

/** What to do where the service at an address refuses a key. `keyFrom`: its place, in words. Of the key only its kind is told. */
export function keyAdvice({ key, keyFrom, origin }: { key: string; keyFrom: string; origin: string }): string {
  const [, isOther] = Object.entries(otherKeys).find(([prefix]) => key.startsWith(prefix)) ?? [];
  const region = /^https:\/\/(us|eu)\.(?:i\.)?posthog\.com$/.exec(origin)?.[1];
  return [
    `check ${keyFrom}`,
    `${isOther === undefined ? '' : `${isOther}: `}a personal API key is needed`,
    ...(region === undefined
      ? []
      : [`an account of ${region === 'us' ? 'eu' : 'us'}.posthog.com is unknown at ${region}.posthog.com`]),
  ].join('; ');
}
