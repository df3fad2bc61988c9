import type { z } from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { Change } from '../store/change-log.ts';
import type { Store } from '../store/store.ts';
import { notFound } from './answer.ts';

/** A response's body, ready to send. */
export type Content = { type: 'application/json' | 'text/csv; charset=utf-8'; text: string };

/** A body of JSON text. Throws a 404 if there is no text. */
export function jsonContent(text: string | undefined): Content {
  if (text === undefined) throw notFound();
  return { type: 'application/json', text };
}

/** A project, as the sandbox lists it. */
export type Project = { id: string; name: string };

/**
 * What a handler gets beside its checked input: the store, the caller and time of the change, the full URL, and the
 * projects that there are.
 */
export type Call = { store: Store; change: Change; url: URL; projects: readonly Project[] };

type Endpoints = typeof endpoints;

/** The checked input of an endpoint, by its row of the table. */
export type Input<R extends Pick<Endpoint, 'params' | 'query' | 'body'>> = {
  params: z.output<R['params']>;
  query: z.output<R['query']>;
  body: R['body'] extends z.ZodType ? z.output<R['body']> : null;
};

/**
 * What each endpoint does after its request was checked by its row of the table. It returns a body only if the
 * document shows one, and throws a `Refusal` to refuse. The status comes from the row.
 */
export type EndpointHandlers = {
  [Name in EndpointName]: (
    input: Input<Endpoints[Name]>,
    call: Call,
  ) => Endpoints[Name]['response'] extends null ? void : Content;
};

/** A handler whose endpoint is not known while compiling; its input has been checked by the endpoint's own row. */
export type AnyHandler = (input: { params: unknown; query: unknown; body: unknown }, call: Call) => Content | undefined;
