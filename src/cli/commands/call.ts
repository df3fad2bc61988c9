import { Argument, type Command } from 'commander';
import type { z } from 'zod';
import { endpoints, type Endpoint } from '../../contract/endpoints.ts';
import { projectEndpoints } from '../../contract/projects.ts';
import { usageError } from '../../core/errors.ts';
import { printableJson, problemText } from '../../core/words.ts';
import { parseExactJson, stringifyExactJson } from '../../core/exact-json.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { splitPair } from '../global-options.ts';
import { formatTable } from '../table.ts';

const callable = { ...projectEndpoints, ...endpoints };
type CallableName = keyof typeof callable;
const names = Object.keys(callable) as CallableName[];

type CallFlags = { param?: [name: string, value: string][]; body?: unknown };

/** Defines `call`: calls one endpoint of the service. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addArgument(new Argument('<endpoint>', 'the name of the endpoint, from the list below').choices(names))
    .option(
      '--param <name=value>',
      'a path or query parameter; may be repeated',
      (text: string, earlier: [string, string][] | undefined) => [...(earlier ?? []), splitPair('--param', text)],
    )
    .option('--body <json>', 'the request body', parseBody);
  return {
    help: `\nEndpoints:\n${endpointTable()}
Every path is below :project_id of service.pathPrefix, except that of projects.list: /api/projects.

Examples:
  analytics-mirror call projects.list
  analytics-mirror call persons.list --param limit=2 --param search=ann@example.com
  analytics-mirror call persons.update --param id=12 --body '{"properties":{"plan":"pro"}}'`,
    run: async (app, name: CallableName, { param = [], body }: CallFlags) => {
      const { params, query } = readParameters(callable[name], Object.fromEntries(param));
      if (body !== undefined && callable[name].body === null)
        throw usageError(`${name} takes no body`, 'leave --body out');
      // TypeScript does not know which endpoint the name is; the endpoint's own schemas have checked both.
      const args = { params: params as never, query: query as never, body, signal: context.signal };
      const reply = await app.service().call(name, args);
      return { json: { status: reply.status, body: reply.body ?? null }, text: replyText(reply.status, reply.body) };
    },
  };
}

function readParameters(
  endpoint: Endpoint,
  given: Readonly<Record<string, string>>,
): { params: object; query: object } {
  const inPath = Object.keys(endpoint.params.shape);
  const inQuery = Object.keys(endpoint.query.shape);
  const unknown = Object.keys(given).filter((name) => !inPath.includes(name) && !inQuery.includes(name));
  if (unknown.length > 0)
    throw usageError(
      `the endpoint has no parameter ${unknown.join(', ')}`,
      `it takes ${[...inPath, ...inQuery].join(', ') || 'none'}`,
    );
  const missing = inPath.filter((name) => !(name in given));
  if (missing.length > 0)
    throw usageError(
      `the endpoint needs ${missing.join(', ')}`,
      `add ${missing.map((name) => `--param ${name}=…`).join(' ')}`,
    );
  return { params: checked(endpoint.params, given, inPath), query: checked(endpoint.query, given, inQuery) };
}

function checked(schema: z.ZodObject, given: Readonly<Record<string, string>>, names: readonly string[]): object {
  const parsed = schema.safeParse(
    Object.fromEntries(names.flatMap((name) => (name in given ? [[name, given[name]]] : []))),
  );
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${problemText(issue)}`);
  throw usageError(`wrong parameters: ${problems.join('; ')}`, 'give each as --param name=value');
}

function replyText(status: number, body: unknown): string {
  if (body === undefined) return `${status}, no body\n`;
  return typeof body === 'string' ? body : `${printableJson(stringifyExactJson(body, 2))}\n`;
}

function endpointTable(): string {
  return formatTable(
    ['name', 'method', 'path', 'scope'],
    names.map((name) => {
      const { method, path, scope } = callable[name];
      return [name, method, path, scope ?? 'any key'];
    }),
    Infinity,
  ).replaceAll(/^(?=.)/gm, '  ');
}

function parseBody(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw usageError('--body is not valid JSON', `put it in single quotes: --body '{"name":"…"}'`);
  }
}
