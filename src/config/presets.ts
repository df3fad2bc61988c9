/** What a service is known for: where it answers and what it allows. */
export type Preset = {
  baseUrl: string | null;
  pathPrefix: string;
  /** Sent with the list of recordings; live services list three days only without it. */
  dateFrom: string | null;
  /** How many requests an hour may be learnt; null where nothing is known of the service. */
  learnUpTo: number | null;
};

/** The limit of newer versions of PostHog, 240 requests a minute, as so many an hour. */
const minuteOnly = 240 * 60;

const posthog = { pathPrefix: '/api/projects', dateFrom: '-30d', learnUpTo: minuteOnly };

/**
 * The services that `init` knows. The limits of PostHog's API are the default budget: 240 a minute and 1,200 an hour. Newer
 * versions have no limit of an hour for reading persons, which the budget may find out.
 */
export const presets = {
  'posthog-us': { ...posthog, baseUrl: 'https://us.posthog.com' },
  'posthog-eu': { ...posthog, baseUrl: 'https://eu.posthog.com' },
  'posthog-self-hosted': { ...posthog, baseUrl: null },
  none: { baseUrl: null, pathPrefix: '/api/environments', dateFrom: null, learnUpTo: null },
} as const satisfies Record<string, Preset>;
export type PresetName = keyof typeof presets;

/** The words of `--preset`. */
export const presetNames = Object.keys(presets) as PresetName[];

/** What `init` writes: the settings that a user has to know first. `schema` is the address of the JSON Schema. */
type FirstSettings = Preset & { projectId: string; dataDir: string; schema: string };

/** The text of a configuration file. */
export function firstConfiguration(first: FirstSettings): string {
  const { baseUrl, pathPrefix, dateFrom, learnUpTo, projectId, dataDir, schema } = first;
  const text = JSON.stringify;
  return `# yaml-language-server: $schema=${schema}
# Settings of analytics-mirror. What is not here has its default; \`analytics-mirror config print\` prints every setting.
# The key is no setting: give it in MIRROR_API_KEY, or the path of a file with it in MIRROR_API_KEY_FILE.

# The folder of the mirror, its snapshots, its ledger and its keys.
dataDir: ${text(dataDir)}

service:
  baseUrl: ${text(baseUrl)}
  # The project, and the beginning of every path before it.
  projectId: ${text(projectId)}
  pathPrefix: ${pathPrefix}

recordings:
  # Live services list three days of recordings unless the query says otherwise.
  query: ${dateFrom === null ? '{}' : `{ date_from: ${text(dateFrom)} }`}

budget:
  # At most so many requests in any minute and in any hour. Raise them if your plan allows more; other programs with the same
  # key share the service's limit.
  windows:
    - { requests: 240, perSeconds: 60 }
    - { requests: 1200, perSeconds: 3600 }
  # The hour's limit is raised so far, step by step, while the service answers no 429. null: never.
  learnUpTo: ${learnUpTo === null ? 'null' : `{ requests: ${learnUpTo}, perSeconds: 3600 }`}

# schedule:        when \`analytics-mirror run\` does each job, in UTC
#   full: 0 2 * * *
# export:          person properties that become columns, and those that are not published
#   promote: [plan, { property: address.city, as: city, type: string }]
#   mask: [phone]
`;
}
