import { capital } from '../core/words.ts';

/** The parts of a project's page, by their ids. */
export type Section = 'freshness' | 'runs' | 'requests' | 'snapshots' | 'ledger' | 'schedule';

type Kind = {
  severity: 'critical' | 'warning';
  title: string;
  /** The part of the page that shows more of it. */
  section: Section;
  /** What to do about it; commands stand between backticks. */
  todo: string;
};

/** What to do about clocks that are apart. */
export const clockFix =
  'set the clock of this machine by NTP; if it is right, that of the service or of a proxy before it is wrong. Until they agree, no request ends by its age, and nothing leaves the feeds';

/** What stands in a text for the place that the key of a project comes from. */
export const configuredKey = 'the configured key';

/** The kinds of alert, the most urgent first. */
export const alertTable = {
  ledger_unwritable: {
    severity: 'critical',
    title: 'The ledger cannot be written',
    section: 'ledger',
    todo: 'No person is erased until it can be written. Check the disk and the owner of the folder ledger/, then run `analytics-mirror doctor`.',
  },
  disk_low: {
    severity: 'critical',
    title: 'The disk is nearly full',
    section: 'snapshots',
    todo: 'Free some space on that disk, or keep fewer snapshots (`export.keep`).',
  },
  log_held: {
    severity: 'warning',
    title: 'A reader makes the database grow',
    section: 'freshness',
    todo: 'End what reads mirror.db for so long (a query, a backup, a notebook): `lsof mirror.db-wal` lists it. The file shrinks at the next write after that.',
  },
  unopened: {
    severity: 'critical',
    title: 'The data folder cannot be used',
    section: 'schedule',
    todo: 'Run `analytics-mirror doctor`: it says why, and what to do.',
  },
  unattended: {
    severity: 'critical',
    title: 'No machine is at work',
    section: 'schedule',
    todo: 'Run `analytics-mirror cluster list`: it lists the machines that live. See that each has this project in its configuration.',
  },
  refused: {
    severity: 'critical',
    title: 'The service refuses the key',
    section: 'schedule',
    todo: `Run \`analytics-mirror doctor\`: it says what the service refuses. Check ${configuredKey}, its scopes, and \`service.projectId\`.`,
  },
  unreachable: {
    severity: 'critical',
    title: 'The service does not answer',
    section: 'schedule',
    todo: "Look at the service's own status page and at this machine's network. The jobs try again by themselves; `analytics-mirror doctor` asks now.",
  },
  quota: {
    severity: 'critical',
    title: 'The quota at the service is used up',
    section: 'schedule',
    todo: "Raise the quota in the service's own settings, or wait until it begins again. `analytics-mirror plan` says how many requests a full pass takes.",
  },
  state_differs: {
    severity: 'critical',
    title: 'Not as the ledger says',
    section: 'ledger',
    todo: 'Run `analytics-mirror doctor`: it names each. `analytics-mirror reconcile` takes erased people out again and records it; it cannot mend a key that was replaced.',
  },
  anchor_refused: {
    severity: 'critical',
    title: 'A witness has seen another ledger',
    section: 'ledger',
    todo: 'Run `analytics-mirror audit anchor`: it names the witness. Put the newest copy of the folder ledger/ back. If this is the newest one, somebody has rewritten it.',
  },
  damaged: {
    severity: 'critical',
    title: 'Published files are damaged',
    section: 'snapshots',
    todo: 'Run `analytics-mirror doctor`: it names each file. `analytics-mirror export` publishes new files; the alert ends when `checkpoint` finds no damaged file.',
  },
  anchor_missing: {
    severity: 'critical',
    title: 'The ledger is not anchored outside',
    section: 'ledger',
    todo: 'Run `analytics-mirror audit anchor`: it names each anchor and what it answers. Until they are anchored, the operator alone vouches for the entries.',
  },
  clock_differs: {
    severity: 'warning',
    title: 'The time is in doubt',
    section: 'schedule',
    todo: `${capital(clockFix)}. \`analytics-mirror doctor\` compares them again.`,
  },
  overdue: {
    severity: 'critical',
    title: 'Erasure requests are overdue',
    section: 'requests',
    todo: 'See `analytics-mirror erase list`; `analytics-mirror erase show ID` says what a request waits for.',
  },
  given_up: {
    severity: 'critical',
    title: 'Erasure requests were given up',
    section: 'requests',
    todo: 'See `analytics-mirror erase list --all`: what ended in the last days by its age, or is cancelled since an older mirror.db did not name its person. Add these persons again with `analytics-mirror erase add`. The alert ends a week after.',
  },
  access_overdue: {
    severity: 'critical',
    title: 'Requests for access are overdue',
    section: 'requests',
    todo: 'See `analytics-mirror access list`; `analytics-mirror where --request ID --page FILE` writes what is held; then `analytics-mirror access answer ID`.',
  },
  attention: {
    severity: 'warning',
    title: 'Erasure requests need attention',
    section: 'requests',
    todo: 'See `analytics-mirror erase list`; `analytics-mirror erase show ID` says what to do for a request.',
  },
  held: {
    severity: 'warning',
    title: 'Your approval is needed',
    section: 'requests',
    todo: 'See `analytics-mirror erase list` and `analytics-mirror reconcile --dry-run`; then `analytics-mirror erase approve ID`, or `analytics-mirror reconcile --approve PLAN`.',
  },
  uncalled: {
    severity: 'warning',
    title: 'A sender is not called back',
    section: 'requests',
    todo: 'See the log: a receiver of callbacks (`intake.senders`) does not accept them, or callbacks.json cannot be read. What was not accepted is sent again, until it is.',
  },
  bucket_behind: {
    severity: 'warning',
    title: 'A bucket does not follow',
    section: 'snapshots',
    todo: 'Run `analytics-mirror doctor`: it asks the bucket. Until it follows, erased people may still be in its files. `analytics-mirror reconcile` brings it up.',
  },
  unacknowledged: {
    severity: 'warning',
    title: 'A consumer has not acknowledged',
    section: 'requests',
    todo: 'Ask the consumers that `analytics-mirror erase list --all --json` names as `unacknowledgedBy`; then `analytics-mirror erase acknowledge ID --consumer NAME`.',
  },
  new_property: {
    severity: 'warning',
    title: 'New properties are not published',
    section: 'snapshots',
    todo: 'See `analytics-mirror query "SELECT * FROM properties ORDER BY first_seen_at DESC"`; list them in `export.promote`, or name them in `export.mask`. The alert ends a week after the last one.',
  },
  stale: {
    severity: 'warning',
    title: 'The data are getting old',
    section: 'freshness',
    todo: "See the job's runs; if they fail, run `analytics-mirror doctor`.",
  },
  failing: {
    severity: 'warning',
    title: 'A job keeps failing',
    section: 'runs',
    todo: 'Run `analytics-mirror doctor`: it checks configuration, key, scopes, disk and files.',
  },
} as const satisfies Readonly<Record<string, Kind>>;

/** All kinds of alerts, the most pressing first. */
export const alertKinds = Object.keys(alertTable) as readonly AlertKind[];
export type AlertKind = keyof typeof alertTable;

/** The receivers of alerts that the worker can speak to. */
export const alertFormats = ['json', 'slack', 'pagerduty', 'healthchecks'] as const;
export type AlertFormat = (typeof alertFormats)[number];
