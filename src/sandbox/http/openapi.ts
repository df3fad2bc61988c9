import { z } from 'zod';
import { documentedPathPrefix } from '../../contract/endpoints.ts';
import { ErrorBody } from '../../contract/error-body.ts';
import { limitDefault, limitMax } from './list-page.ts';
import { propertyFilters } from './endpoint-handlers.ts';
import { documentedRoutes, pathOf, type Route } from './profile.ts';

/** A JSON Schema of what a caller sends, or of what a response holds. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The endpoint table as an OpenAPI 3.1 document. `origin` is where the service listens, without a path. */
export function openApi(origin: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { name, row } of documentedRoutes) {
    const path = pathOf(documentedPathPrefix, row).replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[row.method.toLowerCase()] = operation(name, row);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Analytics Service API (sandbox)',
      version: '1',
      description: 'Every path also answers with a trailing slash.',
    },
    servers: [{ url: origin }],
    paths,
    components: {
      securitySchemes: { personalApiKey: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(ErrorBody) },
    },
  };
}

/** What the sandbox says of a query where the document shows nothing: the rows of a page, the items of a filter. */
const ownFields: Readonly<Record<string, JsonSchema>> = {
  limit: { maximum: limitMax, default: limitDefault },
  properties: schemaOf(propertyFilters.required().shape.properties),
};

/** The fields of an object's schema, as JSON Schemas of what a caller may write. */
export function fieldsOf(schema: z.ZodType): [name: string, field: JsonSchema, isRequired: boolean][] {
  const { properties = {}, required = [] } = schemaOf(schema);
  return Object.entries(properties).map(([name, field]) => [
    name,
    typeof field === 'object' ? field : {},
    required.includes(name),
  ]);
}

/** A parameter of a query. A list is JSON text. */
function queryParameter([name, field, required]: ReturnType<typeof fieldsOf>[number]): object {
  const schema = { ...field, ...ownFields[name] };
  const form = schema.type === 'array' ? { content: { 'application/json': { schema } } } : { schema };
  return { name, in: 'query', required, ...form };
}

/** The part of the service an endpoint belongs to: `persons`, `playlists`, … */
export function groupOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function operation(name: string, endpoint: Route['row']): object {
  const { scope, body, status, summary, isOutsideProjects } = endpoint;
  return {
    operationId: name,
    summary,
    tags: [groupOf(name)],
    security: [{ personalApiKey: scope === null ? [] : [scope] }],
    ...(scope !== null && { 'x-required-scope': scope }),
    parameters: [
      ...(isOutsideProjects ? [] : [{ name: 'project_id', in: 'path', required: true, schema: { type: 'string' } }]),
      ...fieldsOf(endpoint.params).map(([field, schema]) => ({ name: field, in: 'path', required: true, schema })),
      ...fieldsOf(endpoint.query).map(queryParameter),
    ],
    ...(body && { requestBody: { content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: { [status]: success(endpoint), ...errors(endpoint) },
  };
}

function success({ status, response, query }: Route['row']): object {
  if (!response) return { description: status === 405 ? 'Refused; no body' : 'Done; no body' };
  const csv = 'format' in query.shape && status === 200;
  return {
    description: 'Done',
    content: {
      'application/json': { schema: schemaOf(response) },
      ...(csv && { 'text/csv': { schema: { type: 'string' } } }),
    },
  };
}

function errors({ scope }: Route['row']): object {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return {
    400: { description: 'A parameter or field is invalid; `attr` names it', content },
    401: { description: 'No key, or an unknown one', content },
    ...(scope !== null && { 403: { description: `The key lacks ${scope}`, content } }),
    404: { description: 'No such project or object', content },
  };
}

function schemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
