import { z } from 'zod';
import {
  documentedPathPrefix,
  endpointNames,
  endpoints,
  type Endpoint,
  type EndpointName,
} from '../../contract/endpoints.ts';
import { ErrorBody } from '../../contract/error-body.ts';

/** A JSON Schema of what a caller sends, or of what a response holds. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The endpoint table as an OpenAPI 3.1 document. `origin` is where the service listens, without a path. */
export function openApi(origin: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const name of endpointNames) {
    const path = `${documentedPathPrefix}/:project_id${endpoints[name].path}`.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[endpoints[name].method.toLowerCase()] = operation(name);
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

/** The fields of an object's schema, as JSON Schemas of what a caller may write. */
export function fieldsOf(schema: z.ZodType): [name: string, field: JsonSchema, isRequired: boolean][] {
  const { properties = {}, required = [] } = schemaOf(schema);
  return Object.entries(properties).map(([name, field]) => [
    name,
    typeof field === 'object' ? field : {},
    required.includes(name),
  ]);
}

/** The part of the service an endpoint belongs to: `persons`, `playlists`, … */
export function groupOf(name: EndpointName): string {
  return name.slice(0, name.indexOf('.'));
}

function operation(name: EndpointName): object {
  const endpoint: Endpoint = endpoints[name];
  const { scope, body, status, summary } = endpoint;
  return {
    operationId: name,
    summary,
    tags: [groupOf(name)],
    security: [{ personalApiKey: scope === null ? [] : [scope] }],
    ...(scope !== null && { 'x-required-scope': scope }),
    parameters: [
      { name: 'project_id', in: 'path', required: true, schema: { type: 'string' } },
      ...fieldsOf(endpoint.params).map(([field, schema]) => ({ name: field, in: 'path', required: true, schema })),
      ...fieldsOf(endpoint.query).map(([field, schema, required]) => ({ name: field, in: 'query', required, schema })),
    ],
    ...(body && { requestBody: { content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: { [status]: success(endpoint), ...errors(endpoint) },
  };
}

function success({ status, response, query }: Endpoint): object {
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

function errors({ scope }: Endpoint): object {
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
