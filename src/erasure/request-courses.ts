import type { LedgerEntry } from '../ledger/entry.ts';

/** How far the ledger says that a request is. */
export type Course = {
  generation: number;
  /** The generation that was fenced last; 0 before. */
  fencedGeneration: number;
  /** Certified or sealed since it was fenced last. */
  isOver: boolean;
  /** Given up or refused before anything was done. */
  ended: { as: 'refused' | 'cancelled'; at: string } | null;
  isReadmitted: boolean;
  deleteEvents: boolean;
};

/** How far each request is, by the entries of a ledger. */
export function requestCourses(entries: Iterable<LedgerEntry>): Map<string, Course> {
  const courses = new Map<string, Course>();
  for (const entry of entries) {
    if (!('request' in entry)) continue;
    const course = courses.get(entry.request) ?? newCourse();
    courses.set(entry.request, course);
    course.generation = Math.max(course.generation, entry.generation);
    switch (entry.type) {
      case 'received':
        course.deleteEvents = entry.delete_events;
        break;
      case 'refused':
      case 'cancelled':
        course.ended = { as: entry.type, at: entry.at };
        break;
      case 'fenced':
        course.fencedGeneration = entry.generation;
        course.isOver = false;
        course.isReadmitted = false;
        break;
      case 'certified':
      case 'sealed':
        course.isOver = true;
        break;
      case 'reopened':
        course.isOver = false;
        break;
      case 'readmitted':
        course.isReadmitted = true;
        break;
      default:
    }
  }
  return courses;
}

function newCourse(): Course {
  return {
    generation: 1,
    fencedGeneration: 0,
    isOver: false,
    ended: null,
    isReadmitted: false,
    deleteEvents: true,
  };
}

/** The generation as which a request that was fenced before begins anew: one that has begun so already goes on. */
export function nextGeneration({ generation, fencedGeneration }: Course): number {
  return generation > fencedGeneration ? generation : generation + 1;
}
