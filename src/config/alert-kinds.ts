/** The kinds of alert, the most urgent first. */
export const alertSeverities = {
  ledger_unwritable: 'critical',
  disk_low: 'critical',
  log_held: 'warning',
  unopened: 'critical',
  unattended: 'critical',
  refused: 'critical',
  unreachable: 'critical',
  quota: 'critical',
  state_differs: 'critical',
  anchor_refused: 'critical',
  damaged: 'critical',
  anchor_missing: 'critical',
  clock_differs: 'warning',
  overdue: 'critical',
  attention: 'warning',
  held: 'warning',
  unacknowledged: 'warning',
  stale: 'warning',
  failing: 'warning',
} as const;

/** All kinds of alerts, the most pressing first. */
export const alertKinds = Object.keys(alertSeverities) as readonly AlertKind[];
export type AlertKind = keyof typeof alertSeverities;

/** The receivers of alerts that the worker can speak to. */
export const alertFormats = ['json', 'slack', 'pagerduty', 'healthchecks'] as const;
export type AlertFormat = (typeof alertFormats)[number];
