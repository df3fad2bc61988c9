import { z } from 'zod';
import { documentedPathPrefix } from '../../contract/endpoints.ts';
import { ErrorBody } from '../../contract/error-body.ts';
import { limitDefault, limitMax } from './list-page.ts';
import { propertyFilters } from './endpoint-handlers.ts';
import type { Examples } from './examples.ts';
import { documentedRoutes, pathOf, type Route } from './profile.ts';

/** A JSON Schema of what a caller sends, or of what a response holds. */
type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The endpoint table as an OpenAPI 3.1 document. `origin` is where the service listens, without a path. */
export function openApi(origin: string, examples: Examples): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { name, row } of documentedRoutes) {
    const path = pathOf(documentedPathPrefix, row).replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[row.method.toLowerCase()] = operation(name, row, examples);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Analytics Service API (sandbox)',
      version: '1',
      description:
        'Every path also answers with a trailing slash. What the examples name is in the data of this sandbox.',
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
function fieldsOf(schema: z.ZodType): [name: string, field: JsonSchema, isRequired: boolean][] {
  const { properties = {}, required = [] } = schemaOf(schema);
  return Object.entries(properties).map(([name, field]) => [
    name,
    typeof field === 'object' ? field : {},
    required.includes(name),
  ]);
}

type Parameter = { name: string; in: string; required: boolean; schema?: JsonSchema; content?: object };

function inPath(name: string, schema: JsonSchema): Parameter {
  return { name, in: 'path', required: true, schema };
}

/** A parameter of a query. A list is JSON text. */
function queryParameter([name, field, required]: ReturnType<typeof fieldsOf>[number]): Parameter {
  const schema = { ...field, ...ownFields[name] };
  const form = schema.type === 'array' ? { content: { 'application/json': { schema } } } : { schema };
  return { name, in: 'query', required, ...form };
}

function operation(name: string, endpoint: Route['row'], examples: Examples): object {
  const { scope, body, status, summary, isOutsideProjects } = endpoint;
  return {
    operationId: name,
    summary,
    // The part of the service an endpoint belongs to: `persons`, `playlists`, …
    tags: [name.slice(0, name.indexOf('.'))],
    security: [{ personalApiKey: scope === null ? [] : [scope] }],
    ...(scope !== null && { 'x-required-scope': scope }),
    parameters: [
      ...(isOutsideProjects ? [] : [inPath('project_id', { type: 'string' })]),
      ...fieldsOf(endpoint.params).map(([field, schema]) => inPath(field, schema)),
      ...fieldsOf(endpoint.query).map(queryParameter),
    ].map((parameter) => Object.assign(parameter, { example: examples.parameter(name, parameter.name) })),
    ...(body && {
      requestBody: { content: { 'application/json': { schema: schemaOf(body), example: examples.body(name) } } },
    }),
    responses: { [status]: success(endpoint, examples.answer(name)), ...errors(endpoint, examples) },
  };
}

function success({ status, response, query }: Route['row'], example: unknown): object {
  if (!response) return { description: status === 405 ? 'Refused; no body' : 'Done; no body' };
  const csv = 'format' in query.shape && status === 200;
  return {
    description: 'Done',
    content: {
      'application/json': { schema: schemaOf(response), example },
      ...(csv && { 'text/csv': { schema: { type: 'string' } } }),
    },
  };
}

function errors({ scope }: Route['row'], { error }: Examples): object {
  const answer = (status: number, description: string): object => ({
    description,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: error(status) } },
  });
  return {
    400: answer(400, 'A parameter or field is invalid; `attr` names it'),
    401: answer(401, 'No key, or an unknown one'),
    ...(scope !== null && { 403: answer(403, `The key lacks ${scope}`) }),
    404: answer(404, 'No such project or object'),
  };
}

function schemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
