import { z } from 'zod';
import type { PersonFilters } from '../store/person-filters.ts';
import { personJson, type PersonRow } from '../store/person-row.ts';
import { PropertyFilter } from '../store/property-filter.ts';
import { notFound } from './answer.ts';
import { checkInput } from './check-input.ts';
import { jsonContent, type EndpointHandlers } from './endpoint-handler.ts';
import { listPage, personCsv, windowOf } from './list-page.ts';

/** The items of `properties` in the query of the list of persons. The document shows no structure. */
export const propertyFilters = z.object({ properties: z.array(PropertyFilter).max(50).optional() });

/** The filters in the query of the list of persons. Throws a 400 for an invalid property filter. */
export function personFilters(query: {
  distinct_id?: string | undefined;
  email?: string | undefined;
  search?: string | undefined;
  properties?: readonly unknown[] | undefined;
}): PersonFilters {
  return {
    distinctId: query.distinct_id,
    email: query.email,
    search: query.search,
    properties: checkInput(propertyFilters, { properties: query.properties }).properties,
  };
}

/** Every endpoint's handler. A missing one does not compile. `format` has an effect only on reads that return persons. */
export const endpointHandlers: EndpointHandlers = {
  'persons.list': ({ query }, { store, url }) => {
    const filters = personFilters(query);
    const window = windowOf(query);
    const { count, rows } = store.persons.page(filters, window);
    return query.format === 'csv' ? personCsv(rows) : listPage(url, window, count, rows.map(personJson));
  },

  'persons.retrieve': ({ params, query }, { store }) => {
    const person = found(store.persons.find(params.id));
    return query.format === 'csv' ? personCsv([person]) : jsonContent(personJson(person));
  },

  'persons.update': ({ params, body }, { store, change }) =>
    jsonContent(personJson(found(store.persons.mergeProperties(params.id, body.properties, change)))),

  'persons.delete': ({ params, query }, { store, change }) => {
    if (!store.persons.delete(params.id, query.delete_events ?? false, change)) throw notFound();
  },

  'persons.activity': ({ params }, { store }) => {
    found(store.persons.find(params.id));
  },

  'persons.delete_property': ({ params, query }, { store, change }) => {
    if (!store.persons.deleteProperty(params.id, query.$unset, change)) throw notFound();
  },

  'persons.properties_timeline': ({ params }, { store }) => {
    found(store.persons.find(params.id));
  },

  // The document does not explain the properties in the body. The body is checked and has no effect.
  'persons.split': ({ params }, { store, change }) => {
    if (!store.persons.split(params.id, change)) throw notFound();
  },

  'insights.trend': ({ body }, { store, change }) => store.insights.add(body, change),

  'playlists.retrieve': ({ params }, { store }) => jsonContent(store.playlists.find(params.short_id)),

  'playlists.update': ({ params, body }, { store, change }) =>
    jsonContent(store.playlists.update(params.short_id, body, change)),

  // The documented answer is always 405. The status stands in the table, and nothing changes.
  'playlists.delete': () => undefined,

  'playlists.recordings': ({ params }, { store }) => {
    jsonContent(store.playlists.find(params.short_id));
  },

  // The documented body has the playlist's fields, without a stated effect. It is checked and changes nothing.
  'playlists.add_recording': ({ params }, { store }) => {
    jsonContent(store.playlists.find(params.short_id));
    jsonContent(store.recordings.find(params.session_recording_id));
    store.playlists.addRecording(params.short_id, params.session_recording_id);
  },

  'playlists.remove_recording': ({ params }, { store }) => {
    if (!store.playlists.removeRecording(params.short_id, params.session_recording_id)) throw notFound();
  },

  'recordings.list': ({ query }, { store, url }) => {
    const window = windowOf(query);
    const { count, documents } = store.recordings.page(window);
    return listPage(url, window, count, documents);
  },

  'recordings.retrieve': ({ params }, { store }) => jsonContent(store.recordings.find(params.id)),
};

function found(person: PersonRow | undefined): PersonRow {
  if (!person) throw notFound();
  return person;
}
