import { stringify } from 'csv-stringify/sync';
import { Person } from '../../contract/resources.ts';
import type { Window } from '../store/person-filters.ts';
import { personCells, type PersonRow } from '../store/person-row.ts';
import { Refusal } from './answer.ts';
import { jsonContent, type Call, type Content, type Project } from './endpoint-handler.ts';

/** Rows per page; the document names neither number. The maximum limits the memory of one answer. */
export const limitDefault = 100;
export const limitMax = 100_000;

/** The rows that a list request asks for. Throws a 400 for a limit beyond the maximum. */
export function windowOf(query: { limit?: number | undefined; offset?: number | undefined }): Window {
  const { limit = limitDefault, offset = 0 } = query;
  if (limit > limitMax) throw new Refusal('invalidInput', `Must be at most ${limitMax}.`, 'limit');
  return { limit, offset };
}

/** The paginated envelope (section 2.6). `results` are JSON texts; the links keep every other parameter. */
export function listPage(url: URL, window: Window, count: number, results: readonly string[]): Content {
  const { limit, offset } = window;
  const next = offset + limit < count ? linkTo(url, limit, offset + limit) : null;
  const previous = offset > 0 ? linkTo(url, limit, Math.max(0, offset - limit)) : null;
  const links = `"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)}`;
  return jsonContent(`{"count":${count},${links},"results":[${results.join(',')}]}`);
}

function linkTo(url: URL, limit: number, offset: number): string {
  const link = new URL(url);
  link.searchParams.set('limit', String(limit));
  link.searchParams.set('offset', String(offset));
  return link.href;
}

/** All projects as one page. `row` is the form in which a project is shown. */
export function projectPage({ url, projects }: Call, row: (project: Project) => object): Content {
  const window = { limit: projects.length, offset: 0 };
  return listPage(
    url,
    window,
    projects.length,
    projects.map((project) => JSON.stringify(row(project))),
  );
}

/** Persons as CSV: a header, then one row for each person. Distinct ids and properties are JSON text. */
export function personCsv(rows: readonly PersonRow[]): Content {
  const text = stringify(rows.map(personCells), { header: true, columns: Object.keys(Person.shape) });
  return { type: 'text/csv; charset=utf-8', text };
}
