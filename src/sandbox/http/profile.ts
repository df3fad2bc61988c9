import { documentedPathPrefix, endpointNames, endpoints, type Endpoint } from '../../contract/endpoints.ts';
import { projectEndpoints } from '../../contract/projects.ts';
import { type Answer, notFound, type Refusal, refusalAnswer } from './answer.ts';
import type { AnyHandler, Call, Content, Input } from './endpoint-handler.ts';
import { endpointHandlers } from './endpoint-handlers.ts';
import { projectPage } from './list-page.ts';

type Row = Omit<Endpoint, 'status'> & { status: number };

/** One endpoint as it is served. Its row says what to check, its handler does the work. */
export type Route = { name: string; row: Row; handle: AnyHandler };

/** A route with a row of its own, which may differ from the document's. The handler takes what this row checks. */
export function route<const R extends Row>(
  name: string,
  row: R,
  handle: (input: Input<R>, call: Call) => Content | void,
): Route {
  return { name, row, handle: handle as AnyHandler };
}

/** The path as it is served. Projects are listed outside every project, beside the documented prefix. */
export function pathOf(prefix: string, { path, isOutsideProjects }: Row): string {
  return isOutsideProjects ? `/api${path}` : `${prefix}/:project_id${path}`;
}

/** How a service answers: which routes, under which prefixes, and in what manner. */
export type Profile = {
  pathPrefixes: readonly string[];
  /** The headers of each answer below a prefix. */
  headersBelow(prefix: string): Record<string, string>;
  /** In the order in which paths are matched. */
  routes: readonly Route[];
  /** Done before each request. `requestNumber` counts from 1. */
  beforeRequest(requestNumber: number): void;
  refuse(refusal: Refusal, requestNumber: number): Answer;
  /** Throws the refusal of a key that has the scope of an endpoint. */
  admit(row: Route['row']): void;
  /** What a path answers that nobody knows. */
  unknownPath(): Answer;
  /** Whether bodies are packed where the caller takes gzip. */
  packs: boolean;
};

/** The endpoints of the document, each with its handler, and the list of projects. */
export const documentedRoutes: readonly Route[] = [
  ...endpointNames.map((name) => ({ name, row: endpoints[name], handle: endpointHandlers[name] as AnyHandler })),
  route('projects.list', projectEndpoints['projects.list'], (_input, call) => projectPage(call, (project) => project)),
];

/** The service as it is documented. */
export const documentedProfile: Profile = {
  pathPrefixes: [documentedPathPrefix],
  routes: documentedRoutes,
  beforeRequest: () => undefined,
  headersBelow: () => ({}),
  refuse: refusalAnswer,
  admit: () => undefined,
  unknownPath: () => refusalAnswer(notFound()),
  packs: false,
};
