import { probeCapabilities, type Capabilities } from './capabilities.ts';
import { advanceEvents } from './events.ts';
import { openTarget, type FailedStep, type Lane, type UpstreamSubject } from './context.ts';
import { advancePersons } from './persons.ts';
import { advancePlaylists } from './playlists.ts';
import { advanceRecordings } from './recordings.ts';

/** What advancing the service's side needs. Capabilities that are not given are found out where they matter. */
export type UpstreamParts = Omit<Lane, 'capabilities' | 'paths' | 'failed' | 'withoutDate'> & {
  capabilities?: Capabilities | undefined;
};

/** How the service's side of the requests stands. */
export type UpstreamReport = {
  /** Requests whose events wait for the service's batch, and by when it should have run. */
  awaiting: { requestId: string; eventsExpectedBy: string }[];
  /** Those of them, accepted now, whose time is by this machine's clock: the service gave no `Date`. */
  withoutDate: string[];
  /** Steps at which the service failed; their targets are taken up again the next time. */
  failed: FailedStep[];
};

/**
 * Takes the upstream targets of all subjects as far as they can go now. Every step is on the ledger before its effect,
 * so that it may end anywhere and be called again. Throws where no other call can do better (a refused key or project,
 * no connection, a ledger that cannot be written), after all calls that had begun have ended.
 */
export async function advanceUpstream(
  parts: UpstreamParts,
  subjects: readonly UpstreamSubject[],
): Promise<UpstreamReport> {
  const { service, signal } = parts;
  const lane: Lane = {
    ...parts,
    capabilities: async () => parts.capabilities ?? (await probeCapabilities(service, signal)),
    paths: { takeUuids: true },
    failed: [],
    withoutDate: new Set(),
  };
  await advancePersons(lane, subjects);
  await advanceEvents(lane, subjects);
  await advancePlaylists(lane, subjects);
  await advanceRecordings(lane, subjects);
  return {
    awaiting: subjects.flatMap((subject) => {
      const events = openTarget(lane, subject, 'upstream.events');
      if (events?.status !== 'waiting' || events.notBefore === null) return [];
      return [{ requestId: subject.id, eventsExpectedBy: events.notBefore }];
    }),
    withoutDate: [...lane.withoutDate],
    failed: lane.failed,
  };
}
