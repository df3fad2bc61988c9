/** The spans that hold a cluster together. Tests shorten them. */
export type ClusterTiming = {
  /** How often a holder says that it lives. */
  beatMs: number;
  /** How long after its last beat others may take what it holds. A holder that could not beat stops earlier by a third. */
  leaseMs: number;
};

/** The spans of this program. */
export const clusterTiming: ClusterTiming = { beatMs: 5_000, leaseMs: 30_000 };
