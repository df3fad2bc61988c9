import { expect, it } from 'vitest';
import { z } from 'zod';
import { Receipt } from '../../src/erasure/request/receipt.ts';
import { problems, type Problem } from '../../src/intake/answer.ts';
import { GivenRequest, idempotencyKeyForm } from '../../src/intake/given-request.ts';
import { outcomes } from '../../src/intake/status-of.ts';

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): object => {
  const { $schema: _same, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
};

/** The answers of a call to problems, by their status. */
function problemAnswers(codes: readonly Problem[]): object {
  const byStatus = Map.groupBy(codes, (code) => String(problems[code][0]));
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [
      status,
      {
        description: own.map((code) => `\`${code}\`: ${problems[code][1]}.`).join(' '),
        ...(status === '429' || status === '503'
          ? { headers: { 'Retry-After': { schema: { type: 'integer', minimum: 1 }, description: 'Seconds.' } } }
          : {}),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
}

const bearer = [{ sender: [] }];
const uuid = { type: 'string', format: 'uuid' };
const time = { type: 'string', format: 'date-time' };
const json = (name: string): object => ({ 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } });

const document = {
  openapi: '3.1.0',
  info: {
    title: 'The intake of analytics-mirror',
    version: '1',
    description: 'Takes requests for erasure. No answer tells whether somebody exists. docs/intake.md says more.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: 'http://127.0.0.1:8791' }],
  paths: {
    '/v1/requests': {
      post: {
        operationId: 'createRequest',
        summary:
          'Makes a request. It is answered once it is on the ledger for good; the body of the answer is its receipt.',
        security: bearer,
        parameters: [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: true,
            description:
              'Random, another one for each request. Sent again with the same content, the answer is the same receipt.',
            schema: { type: 'string', pattern: idempotencyKeyForm.source },
          },
        ],
        requestBody: { required: true, content: json('Request') },
        responses: {
          201: {
            description: 'The request is received. The body is the file of its receipt, byte for byte.',
            headers: { Location: { schema: { type: 'string' }, description: 'Where its status is.' } },
            content: json('Receipt'),
            links: { status: { operationId: 'getRequest', parameters: { id: '$response.body#/request' } } },
          },
          ...problemAnswers([
            'no_idempotency_key',
            'not_json',
            'not_a_request',
            'not_authorized',
            'kind_not_allowed',
            'used_up',
            'too_large',
            'not_json_type',
            'other',
            'too_many',
            'unavailable',
          ]),
        },
      },
    },
    '/v1/requests/{id}': {
      get: {
        operationId: 'getRequest',
        summary: 'Tells the sender of a request how far it is.',
        security: bearer,
        parameters: [{ name: 'id', in: 'path', required: true, schema: uuid }],
        responses: {
          200: { description: 'The status.', content: json('Status') },
          ...problemAnswers(['not_authorized', 'no_such_request', 'too_many', 'unavailable']),
        },
      },
    },
  },
  components: {
    securitySchemes: { sender: { type: 'http', scheme: 'bearer', description: 'The key of a sender.' } },
    schemas: {
      Request: schemaOf(GivenRequest, 'input'),
      Receipt: schemaOf(Receipt, 'output'),
      Status: {
        type: 'object',
        properties: {
          request: uuid,
          state: { enum: ['received', 'closed'] },
          received_at: time,
          due_at: time,
          outcome: { enum: [null, ...outcomes], description: 'Only to a sender that may learn it.' },
          ended_at: { type: ['string', 'null'], format: 'date-time' },
        },
        required: ['request', 'state', 'received_at', 'due_at', 'outcome', 'ended_at'],
        additionalProperties: false,
      },
      Problem: {
        type: 'object',
        properties: { title: { enum: Object.keys(problems) }, status: { type: 'integer' }, detail: { type: 'string' } },
        required: ['title', 'status', 'detail'],
        additionalProperties: false,
      },
    },
  },
};

it('docs/intake.openapi.json is made of the schemas by which bodies are read (npm exec -- vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../../docs/intake.openapi.json');
});
