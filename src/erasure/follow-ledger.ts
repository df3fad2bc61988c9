import { isoTime } from '../core/clock.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { liftFence } from '../mirror/fence.ts';
import { updateRequest, type ErasureParts } from './erasure-parts.ts';
import { reopenedRecords, reopenRequest } from './reopen-request.ts';
import { nextGeneration, requestCourses, type Course } from './request-courses.ts';

/**
 * Brings requests in line with the ledger where it knows more of them than the mirror: after a kill between the word and
 * the deed, and in an older copy of the mirror. What was refused or given up stays so; what was erased begins anew, since
 * the copy may have been made before its bytes were purged.
 */
export function followLedger({ db, ledger, clock }: Pick<ErasureParts, 'db' | 'ledger' | 'clock'>): void {
  const open = listRequests(db, 'open');
  if (open.length === 0) return;
  const courses = requestCourses(ledger.entries());
  const at = isoTime(clock.now());
  db.transaction(() => {
    for (const request of open) {
      const { id } = request;
      const course = courses.get(id);
      if (!course) continue;
      const { ended, isReadmitted, fencedGeneration } = course;
      if (ended && fencedGeneration === 0) {
        const isRefused = ended.as === 'refused';
        const change = isRefused
          ? { refusedAt: ended.at, reason: 'unknown_subject' }
          : { cancelledAt: ended.at };
        updateRequest(db, id, { ...change, box: null, authorisedBy: null });
      } else if (isReadmitted && course.isOver) {
        liftFence(db, id);
        updateRequest(db, id, { fencedAt: at, verifiedAt: at, certifiedAt: at, generation: course.generation });
      } else if (isBehind(request, course, () => listTargets(db, id).every(({ status }) => status === 'done'))) {
        // Within the transaction: what the ledger cannot take is not done.
        ledger.append(reopenedRecords(id, course, 'restored'));
        reopenRequest(db, id, { generation: nextGeneration(course), at });
      }
    }
  }).immediate();
}

function isBehind(
  { generation, fencedAt, verifiedAt, certifiedAt }: ErasureRequest,
  course: Course,
  isAllDone: () => boolean,
): boolean {
  if (course.fencedGeneration === 0) return false;
  if (generation < course.generation) return true;
  if (fencedAt === null && generation <= course.fencedGeneration) return true;
  // Certified, and killed before it could be noted here: nothing is left to do but that.
  return course.isOver && certifiedAt === null && (verifiedAt === null || !isAllDone());
}
