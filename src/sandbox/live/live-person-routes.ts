import { z } from 'zod';
import { endpoints, PersonId } from '../../contract/endpoints.ts';
import { notFound } from '../http/answer.ts';
import { jsonContent, type Call, type Content } from '../http/endpoint-handler.ts';
import { sha256 } from '../../core/digest.ts';
import { randomFor } from '../generator/seeded-random.ts';
import type { Haunted } from '../store/live-lists.ts';
import { personCsv } from '../http/list-page.ts';
import { personFilters } from '../http/endpoint-handlers.ts';
import { route, type Route } from '../http/profile.ts';
import type { PersonRow } from '../store/person-row.ts';
import type { PersonFilters, Window } from '../store/person-filters.ts';
import { clampedWindow, personsLimitCut, type LiveOptions } from './live-data.ts';
import { listedPersonJson, livePersonJson, sortedWithinPage } from './live-rows.ts';

/** `format=csv` comes with a limit and an offset of its own. */
const csvWindow = { limit: 50_000, offset: 0 };

const limitDefault = 100;

/** An integer id, or the uuid in its place. */
const params = z.object({ id: z.union([PersonId, z.guid()]) });

/** A change without `properties` is refused before the person is looked up. */
const change = z.object({ properties: z.record(z.string(), z.unknown()) });

/** The routes of section 4.2 as a live service has them. */
export function livePersonRoutes(options: LiveOptions, { defer }: DeferredChanges): Route[] {
  const select = personSelection(options);
  return [
    route('persons.list', endpoints['persons.list'], ({ query }, call) => {
      const isCsv = query.format === 'csv';
      const window = isCsv ? csvWindow : clampedWindow(query, limitDefault, options.personsLimitMax);
      const filters = personFilters(query);
      const { rows, positions } = select(filters, window, call);
      if (isCsv) return personCsv(rows);
      // Where more are asked for than a page can have, the service takes the page for the last one.
      const hasMore = positions === window.limit && (query.limit ?? 0) <= personsLimitCut;
      const isCounted = call.url.searchParams.has('include_total');
      const total = isCounted ? call.store.persons.page(filters, { limit: 0, offset: 0 }).count : undefined;
      return livePersonPage(call.url, window, hasMore, rows.map(listedPersonJson), total);
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

/** How far ahead of now a person may be dated and still be listed. */
const aheadMs = 86_400_000;

/**
 * Selects pages of persons: in one order from one store, and then sorted again within the page. Rows of one millisecond stand
 * otherwise on two pages that overlap.
 */
function personSelection({ tieOrder, hidesReturned }: LiveOptions) {
  const random = randomFor('ties', 1);
  const salt = (): number => random.int(1, 0x7fffffff);
  return (filters: PersonFilters, window: Window, { store, change }: Call): Haunted<PersonRow> => {
    const tieSalt = tieOrder === 'anew-in-each-selection' ? salt() : 0;
    const view = { untilMs: change.atMs + aheadMs, hidesReturned, tieSalt };
    const { rows, positions } = store.livePersons.page(filters, window, view);
    const pageSalt = tieOrder === 'anew-on-each-page' ? salt() : undefined;
    const tie = ({ uuid }: PersonRow): string => (pageSalt === undefined ? uuid : sha256(`${pageSalt} ${uuid}`));
    return { rows: sortedWithinPage(rows, tie), positions };
  };
}

/** The address that a service behind a proxy takes for its own. */
const believedOrigin = 'https://analytics.internal.example';

/**
 * A page of persons. It has a `count` only where `include_total` is in the query, with any value. `next` has another host, scheme and
 * prefix. `previous` leads to this same page.
 */
function livePersonPage(
  url: URL,
  { limit, offset }: Window,
  hasMore: boolean,
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
  const next = hasMore ? link(offset + limit) : null;
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
