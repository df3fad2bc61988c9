import { z } from 'zod';
import { printable } from '../core/words.ts';
import { plain, type Endpoint } from './endpoints.ts';
import { pageOf } from './resources.ts';

/** A project as it is listed, by as little as is sure: the document names the call and shows no shape. */
const Project = z.object({ id: z.union([z.string(), z.int()]), name: z.string() });
const TolerantProject = Project.extend({ name: z.string().catch('') });

/** The call through which a `project_id` is found (section 1). It is outside section 4, and any valid key may make it. */
export const projectEndpoints = {
  'projects.list': {
    ...plain,
    path: '/projects',
    isOutsideProjects: true,
    response: pageOf(Project),
    summary: 'List the projects that the key sees',
  },
} as const satisfies Record<string, Endpoint>;

/** A project that a key sees. Its texts stand on one line and are cut to 80 characters. */
export type ListedProject = { id: string; name: string };

/**
 * The projects in an answer: the list envelope, or a bare array. Undefined for an answer of any other form; a row without
 * an id is left out. `isWhole` says that no page follows.
 */
export function readProjects(body: unknown): { projects: ListedProject[]; isWhole: boolean } | undefined {
  const answer = envelope.safeParse(Array.isArray(body) ? { results: body } : body);
  if (!answer.success) return undefined;
  const { results, next } = answer.data;
  const projects = results.flatMap((row) => {
    const { data } = TolerantProject.safeParse(row);
    return data ? [{ id: shortText(String(data.id)), name: shortText(data.name) }] : [];
  });
  return { projects, isWhole: typeof next !== 'string' };
}

const envelope = z.object({ results: z.array(z.unknown()), next: z.unknown().optional() });
const lengthMax = 80;

function shortText(text: string): string {
  const line = printable(text).toWellFormed().trim();
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1)}…` : line;
}
