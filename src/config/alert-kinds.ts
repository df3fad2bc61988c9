/** What can call for somebody, the most pressing first. */
export const alertKinds = [
  'ledger_unwritable',
  'disk_low',
  'unopened',
  'damaged',
  'overdue',
  'attention',
  'held',
  'stale',
  'failing',
] as const;
export type AlertKind = (typeof alertKinds)[number];
