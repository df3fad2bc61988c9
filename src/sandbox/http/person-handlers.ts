import { personJson, type PersonRow } from '../store/person-row.ts';
import type { Content, EndpointHandlers } from './endpoint-handler.ts';
import { checkInput } from './check-input.ts';
import { listPage, windowOf } from './list-page.ts';
import { personCsv } from './person-csv.ts';
import { personFilters, propertyValues } from './person-input.ts';
import { notFound, Refusal } from './refusal.ts';

/** Section 4.2. `format` has an effect only where persons are returned by a read. */
export const personHandlers = {
  'persons.list': ({ query }, { store, url }) => {
    const filters = personFilters(query);
    const window = windowOf(query);
    const { count, rows } = store.persons.page(filters, window);
    return query.format === 'csv' ? personCsv(rows) : listPage(url, window, count, rows.map(personJson));
  },

  'persons.retrieve': ({ params, query }, { store }) => {
    const person = found(store.persons.find(params.id));
    return query.format === 'csv' ? personCsv([person]) : content(person);
  },

  // The body is any JSON in the document; merging needs an object, so anything else is refused.
  'persons.update': ({ params, body }, { store, change }) => {
    found(store.persons.find(params.id));
    const { properties = {} } = checkInput(propertyValues, body);
    return content(found(store.persons.mergeProperties(params.id, properties, change)));
  },

  'persons.delete': ({ params, query }, { store, change }) => {
    if (!store.persons.delete(params.id, query.delete_events ?? false, change)) throw notFound();
  },

  'persons.activity': ({ params }, { store }) => {
    found(store.persons.find(params.id));
  },

  'persons.delete_property': ({ params, query }, { store, change }) => {
    if (query.$unset === undefined)
      throw new Refusal('invalidInput', 'This parameter is required.', '$unset');
    if (!store.persons.deleteProperty(params.id, query.$unset, change)) throw notFound();
  },

  'persons.properties_timeline': ({ params }, { store }) => {
    found(store.persons.find(params.id));
  },

  // The meaning of the body's properties is not shown: it is checked, and has no effect.
  'persons.split': ({ params }, { store, change }) => {
    if (!store.persons.split(params.id, change)) throw notFound();
  },
} satisfies Partial<EndpointHandlers>;

function found(person: PersonRow | undefined): PersonRow {
  if (!person) throw notFound();
  return person;
}

function content(person: PersonRow): Content {
  return { type: 'application/json', text: personJson(person) };
}
