import { expect, it } from 'vitest';
import { askUrl, smallSandbox } from './sandbox-requests.ts';

type Parameter = { name: string; in: string; required: boolean; example?: string | number };
type Operation = {
  parameters: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>;
};

it('every example of the OpenAPI document works as it stands', async () => {
  await using sandbox = await smallSandbox();
  const { paths } = JSON.parse((await askUrl(`${sandbox.url}/openapi.json`)).text) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  expect(operations.length).toBeGreaterThan(15);
  // What deletes comes last, so that the other examples still find their rows.
  for (const { path, method, operation } of operations.toSorted(
    (a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'),
  )) {
    const { parameters, requestBody, responses } = operation;
    const filled = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), path);
    const query = parameters
      .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
      .map(({ name, example }) => `${encodeURIComponent(name)}=${example}`);
    const body = requestBody?.content['application/json']?.example;
    expect([path, method, body === undefined]).toEqual([path, method, requestBody === undefined]);
    const answer = await askUrl(`${sandbox.url}${filled}?${query.join('&')}`, {
      method: method.toUpperCase(),
      body,
      key: sandbox.apiKey,
    });
    const documented = Object.keys(responses).find((status) => status < '300' || status === '405') ?? '';
    expect([filled, method, String(answer.status)]).toEqual([filled, method, documented]);
    const example = responses[documented]?.content?.['application/json']?.example;
    expect([filled, method, example !== undefined]).toEqual([
      filled,
      method,
      responses[documented]?.content !== undefined,
    ]);
    if (method === 'get' && example !== undefined)
      expect(Object.keys(JSON.parse(answer.text) as object)).toEqual(Object.keys(example as object));
  }
});

it('a sandbox without recordings has an OpenAPI document, too', async () => {
  await using sandbox = await smallSandbox({ persons: 0, recordings: 0 });
  expect((await askUrl(`${sandbox.url}/openapi.json`)).status).toBe(200);
});
