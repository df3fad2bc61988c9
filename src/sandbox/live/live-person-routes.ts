import { z } from 'zod';
import { endpoints, PersonId } from '../../contract/endpoints.ts';
import { notFound } from '../http/answer.ts';
import { jsonContent, type Call, type Content } from '../http/endpoint-handler.ts';
import { personCsv } from '../http/list-page.ts';
import { personFilters } from '../http/endpoint-handlers.ts';
import { route, type Route } from '../http/profile.ts';
import type { PersonRow } from '../store/person-row.ts';
import type { Window } from '../store/persons.ts';
import { clampedWindow, type LiveOptions } from './live-data.ts';
import { listedPersonJson, livePersonJson } from './live-rows.ts';

/** `format=csv` comes with a limit and an offset of its own. */
const csvWindow = { limit: 1000, offset: 0 };

/** An integer id, or the uuid in its place. */
const params = z.object({ id: z.union([PersonId, z.guid()]) });

/** A change without `properties` is refused before the person is looked up. */
const change = z.object({ properties: z.record(z.string(), z.unknown()) });

/** The routes of section 4.2 as a live service has them. */
export function livePersonRoutes(options: LiveOptions, { defer }: DeferredChanges): Route[] {
  return [
    route('persons.list', endpoints['persons.list'], ({ query }, { store, url }) => {
      const filters = personFilters(query);
      if (query.format === 'csv') return personCsv(store.persons.page(filters, csvWindow).rows);
      const window = clampedWindow(query, options.personsLimitMax);
      if (Object.values(filters).some((filter) => filter !== undefined)) {
        const { rows } = store.persons.page(filters, window);
        return livePersonPage(url, window, rows.length, rows.map(livePersonJson));
      }
      const { rows, positions } = store.ghosts.persons(window);
      const isCounted = url.searchParams.has('include_total');
      const total = isCounted ? store.persons.page({}, { limit: 0, offset: 0 }).count : undefined;
      return livePersonPage(url, window, positions, rows.map(listedPersonJson), total);
    }),

    route('persons.retrieve', { ...endpoints['persons.retrieve'], params }, (input, call) => {
      const person = found(input.params.id, call);
      return input.query.format === 'csv' ? personCsv([person]) : jsonContent(livePersonJson(person));
    }),

    route(
      'persons.update',
      { ...endpoints['persons.update'], params, body: change, status: 202, response: null },
      (input, call) => {
        const { id } = found(input.params.id, call);
        defer(() => call.store.persons.mergeProperties(id, input.body.properties, call.change));
      },
    ),

    // Only the presence of `delete_events` and `delete_recordings` counts, not their values.
    route(
      'persons.delete',
      {
        ...endpoints['persons.delete'],
        params,
        query: z.object({ delete_events: z.string().optional(), delete_recordings: z.string().optional() }),
        status: 202,
      },
      (input, call) => {
        const { id, distinctIds } = found(input.params.id, call);
        call.store.persons.delete(id, input.query.delete_events !== undefined, call.change);
        if (input.query.delete_recordings !== undefined) defer(() => call.store.recordings.deleteOf(distinctIds));
      },
    ),

    route(
      'persons.delete_property',
      { ...endpoints['persons.delete_property'], params, status: 201 },
      (input, call) => {
        const { id } = found(input.params.id, call);
        defer(() => call.store.persons.deleteProperty(id, input.query.$unset, call.change));
        return jsonContent('{"success":true}');
      },
    ),

    // Both answer 200 without a body.
    ...(['persons.activity', 'persons.properties_timeline'] as const).map((name) =>
      route(name, { ...endpoints[name], params }, (input, call) => {
        found(input.params.id, call);
      }),
    ),

    route('persons.split', { ...endpoints['persons.split'], params, status: 201 }, (input, call) => {
      const { id } = found(input.params.id, call);
      defer(() => call.store.persons.split(id, call.change));
      return jsonContent('{"success":true}');
    }),
  ];
}

/** The address that a service behind a proxy takes for its own. */
const believedOrigin = 'https://analytics.internal.example';

/**
 * A page of persons. It has a `count` only where `include_total` is in the query, with any value. `next` is set if the window was full, with another host, scheme and prefix.
 * `previous` leads to this same page. `positions` counts ghosts too.
 */
function livePersonPage(
  url: URL,
  { limit, offset }: Window,
  positions: number,
  results: readonly string[],
  total?: number,
): Content {
  const link = (at: number): string => {
    const target = new URL(url.pathname.replace('/api/environments/', '/api/projects/'), believedOrigin);
    target.search = url.search;
    target.searchParams.set('limit', String(limit));
    target.searchParams.set('offset', String(at));
    return target.href;
  };
  const next = positions < limit ? null : link(offset + limit);
  const previous = offset > 0 ? link(offset) : null;
  const count = total === undefined ? '' : `"count":${total},`;
  return jsonContent(
    `{${count}"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)},"results":[${results.join(',')}]}`,
  );
}

function found(ref: number | string, { store }: Call): PersonRow {
  const id = typeof ref === 'number' ? ref : store.lifecycle.idOf(ref.toLowerCase());
  const person = id === undefined ? undefined : store.persons.find(id);
  if (!person) throw notFound();
  return person;
}

export type DeferredChanges = ReturnType<typeof deferredChanges>;

/** Changes that are accepted now and made some requests later, or by a time. A read in between shows the old state. */
export function deferredChanges(afterRequests: number) {
  let pending: { requestNumber: number; byMs: number; make: () => void }[] = [];
  let current = 0;
  return {
    /** `byMs`: when the change is made at the latest, however few requests there are; never by a time unless given. */
    defer: (make: () => void, byMs = Number.POSITIVE_INFINITY): void =>
      void pending.push({ requestNumber: current + afterRequests, byMs, make }),
    /** Makes the changes that are due before the request of this number is answered. */
    makeDue(requestNumber: number, nowMs: number): void {
      current = requestNumber;
      const isDue = (change: (typeof pending)[number]): boolean =>
        change.requestNumber < requestNumber || change.byMs <= nowMs;
      const due = pending.filter(isDue);
      pending = pending.filter((change) => !isDue(change));
      for (const { make } of due) make();
    },
  };
}
