/** How a live service is set up. */
export type LiveOptions = {
  /** Rows per page that the service serves at most, whatever is asked. */
  personsLimitMax: number;
  recordingsLimitMax: number;
  /** Recordings that started longer ago are gone. */
  retentionDays: number;
  /** How many ghosts a list has, as a share of its rows. */
  ghostShare: number;
  /** How many ghosts stand in a row, once for each 5,000 persons begun, in lists of at least 500; 0 for none. */
  ghostRun: number;
  /** A change that the service only takes note of is made so many requests later. */
  actsAfterRequests: number;
};

export const liveDefaults: LiveOptions = {
  personsLimitMax: 500,
  recordingsLimitMax: 200,
  retentionDays: 30,
  ghostShare: 0.03,
  ghostRun: 200,
  actsAfterRequests: 3,
};
