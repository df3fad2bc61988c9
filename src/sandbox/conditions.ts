/** What holds of the whole service for as long as it is said to. */
export type Conditions = {
  /** Every path of the project answers 404. */
  projectVanished: boolean;
  /** Every list answers 200 without a row. */
  listsEmpty: boolean;
  /** Queued deletions of events are run when they are due. */
  batchRuns: boolean;
};
