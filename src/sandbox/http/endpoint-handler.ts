import type { z } from 'zod';
import type { Endpoint, EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { Change } from '../store/change-log.ts';
import type { Store } from '../store/store.ts';
import { notFound } from './answer.ts';

/** A response's body, ready to send. */
export type Content = { type: 'application/json' | 'text/csv; charset=utf-8'; text: string };

/** JSON text as a body. Throws a 404 where there is none. */
export function jsonContent(text: string | undefined): Content {
  if (text === undefined) throw notFound();
  return { type: 'application/json', text };
}

/** What a handler knows beside its checked input: the store, who calls and when, and the full URL. */
export type Call = { store: Store; change: Change; url: URL };

type Endpoints = typeof endpoints;

/** What a row of the endpoint table checks, as it comes out of the check. */
export type Input<R extends Pick<Endpoint, 'params' | 'query' | 'body'>> = {
  params: z.output<R['params']>;
  query: z.output<R['query']>;
  body: R['body'] extends z.ZodType ? z.output<R['body']> : null;
};

/**
 * What an endpoint does once its request has been checked against its row of the table. It returns a body exactly
 * where the document shows one, and throws a `Refusal` to refuse; the status comes from the row.
 */
export type EndpointHandlers = {
  [Name in EndpointName]: (
    input: Input<Endpoints[Name]>,
    call: Call,
  ) => Endpoints[Name]['response'] extends null ? void : Content;
};

/** A handler whose endpoint is not known while compiling; its input has been checked by the endpoint's own row. */
export type AnyHandler = (
  input: { params: unknown; query: unknown; body: unknown },
  call: Call,
) => Content | undefined;
