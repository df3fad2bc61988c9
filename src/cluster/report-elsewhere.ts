import type { ClusterDatabase } from './cluster-database.ts';
import type { SharedProject } from './holding-rows.ts';
import { newerReason, readRoster, readState } from './roster.ts';
import { schemaVersion } from '../mirror/migrate.ts';
import { ProjectState } from '../job/worker-state.ts';

/**
 * A project of a cluster that this machine has no copy of: who holds it (null: no machine), and what its last holder said of it.
 * `at`: when, in ISO 8601 UTC by the clock of the cluster's database. Null where none has said anything yet.
 */
export type ElsewhereReport = {
  project: string;
  holder: { machine: string; purpose: string; since: string } | null;
  isPaused: boolean;
  /** Why this program leaves it alone: a newer version has written it. */
  newer: string | null;
  said: ({ at: string } & ProjectState) | null;
};

/** Reports a project by the database of its cluster, without taking it. Rejects where the database does not answer. */
export async function reportElsewhere(
  database: ClusterDatabase,
  { id, name }: SharedProject,
): Promise<ElsewhereReport> {
  const { projects } = await readRoster(database);
  const found = projects.find((project) => project.id === id);
  const said = await readState(database, id);
  const state = ProjectState.safeParse(said?.state).data;
  return {
    project: name,
    holder:
      !found || found.holder === null
        ? null
        : { machine: found.holder, purpose: found.purpose ?? '', since: found.since ?? '' },
    isPaused: found?.isPaused ?? false,
    newer: found ? newerReason(found, schemaVersion()) : null,
    said: said && state ? { ...state, at: said.at } : null,
  };
}
