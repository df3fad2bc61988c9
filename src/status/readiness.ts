import type { Overview, ProjectOverview } from './overview.ts';

/** Whether what is mirrored may be relied on, and every reason against it. Holds no personal data. */
export type Readiness = { ready: boolean; reasons: string[] };

/** Ready is a worker all of whose projects are fresh, have disk left, and can write their ledger. */
export function readinessOf({ projects }: Overview): Readiness {
  const reasons = projects.flatMap((project) =>
    reasonsOf(project).map((reason) => `${project.name}: ${reason}`),
  );
  return { ready: reasons.length === 0, reasons };
}

function reasonsOf({ content, condition, problem }: ProjectOverview): string[] {
  if (problem !== null) return [`the data folder cannot be used (${problem})`];
  if (content === null) return ['nothing is mirrored yet'];
  return [
    ...content.lists.flatMap(({ dataset, state }) =>
      state === 'fresh'
        ? []
        : [state === 'stale' ? `${dataset} is stale` : `${dataset} was never seen as a whole`],
    ),
    ...(condition !== null && condition.diskFreeBytes < condition.diskFreeBytesMin
      ? ['the disk is nearly full']
      : []),
    ...(condition !== null && !condition.isLedgerWritable ? ['the ledger cannot be written'] : []),
  ];
}
