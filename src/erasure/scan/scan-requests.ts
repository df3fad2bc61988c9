import { resolve } from 'node:path';
import { nobody } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { hasBox } from '../../mirror/request-box.ts';
import { openSubjects, type GivenIdentifier } from '../request/box.ts';
import { reopenRequest, reopenUnnamed } from '../request/reopen.ts';
import { together } from '../request/together.ts';
import { scopeSubjects } from '../find/scope.ts';
import { scanner } from './run-scan.ts';
import type { ScanReport } from './scan-task.ts';

/**
 * Scans all files of this program for every person that should be gone: the subjects of fenced requests by their values,
 * those of sealed requests by the fence. `given` identifiers are searched for too. When a subject is found in the data folder
 * that had been proved gone, its request is opened again, as its next generation: `reopened` are the ids of these.
 */
export async function scanRequests(
  context: JobContext,
  given: readonly GivenIdentifier[],
  also: readonly string[],
): Promise<{ report: ScanReport; reopened: string[] }> {
  const { db, settings, signal } = context;
  const { dataDir } = settings;
  const extraPaths = also.map((path) => resolve(path));
  const fenced = await openSubjects(context, ({ fencedAt }) => fencedAt !== null);
  const { scopes } = await scopeSubjects(
    { ...context, service: null },
    given.map((identifier, index) => ({ id: `line ${index + 1}`, given: [identifier], identity: nobody, shown: [] })),
  );
  const subjects = [
    ...fenced.map(({ id, identity, values }) => ({ request: id, identities: [identity], values })),
    ...[...scopes].map(([request, { identity, values }], index) => ({
      request,
      identities: [identity],
      values: [...values, given[index]?.value ?? ''],
    })),
  ];
  const report = await scanner.scan({ dataDir, phase: 'verify', subjects, fence: true, extraPaths }, { signal });
  const found = new Set(report.foundHere);
  const reopened = listRequests(db, 'all').filter(({ id, verifiedAt }) => verifiedAt !== null && found.has(id));
  together(context, (own) => {
    for (const { id } of reopened)
      if (hasBox(db, id)) reopenRequest(own, id, 'residue_found');
      else reopenUnnamed(own, id, 'mirror', 'residue_found');
  });
  return { report, reopened: reopened.map(({ id }) => id) };
}
