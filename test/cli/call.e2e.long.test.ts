import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { jsonOf, runCli } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

let workspace: Workspace;
let id: number;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 20, recordings: 5 });
  [{ id } = { id: 0 }] = [...workspace.sandbox.living()];
});
afterAll(() => workspace[Symbol.asyncDispose]());

describe('call', () => {
  it.each([
    ['query', 'persons.list', () => ['--param', 'limit=3'], { count: 20, results: { length: 3 } }],
    ['path', 'persons.retrieve', () => ['--param', `id=${id}`], { uuid: expect.any(String) as string }],
    ['path and query', 'persons.delete_property', () => ['--param', `id=${id}`, '--param', '$unset=plan'], null],
    ['path and body', 'persons.update', () => ['--param', `id=${id}`, '--body', '{"properties":{"a":1}}'], {}],
  ] as const)('puts what is given into the %s of %s', async (_where, name, args, body) => {
    const ended = await workspace.run(['call', name, '--json', ...args()]);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(jsonOf(ended)).toMatchObject({ status: endpoints[name].status, body });
  });

  it('finds the id of the project, before one is configured; and so does doctor', async () => {
    const { MIRROR_PROJECT_ID: _unknown, ...env } = workspace.env;
    const ended = await runCli(['call', 'projects.list', '--json'], { env });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const results = [{ id: workspace.sandbox.projectId, name: 'Sandbox' }];
    expect(jsonOf(ended)).toMatchObject({ status: 200, body: { count: 1, results } });
    const { code, stdout } = await runCli(['doctor'], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed +service: persons +not configured: the project \(/m);
    expect(stdout).toMatch(
      /^failed +service: projects +the key sees 1 project: 1 \(Sandbox\); none is configured; set service\.projectId /m,
    );
    expect(await runCli(['call', 'persons.list'], { env })).toMatchObject({ code: 2, stdout: '' });
  });

  it('shows people an empty answer, and CSV as it is', async () => {
    const refused = await workspace.run([
      'call',
      'playlists.delete',
      '--param',
      `short_id=${workspace.sandbox.playlists[0]}`,
    ]);
    expect(refused).toEqual({ code: 0, stdout: '405, no body\n', stderr: '' });
    const csv = await workspace.run(['call', 'persons.list', '--param', 'format=csv', '--param', 'limit=1']);
    expect(csv).toMatchObject({ code: 0, stderr: '' });
    expect(csv.stdout).toMatch(/^id,name,distinct_ids,properties,created_at,uuid\r?\n\d+,/);
  });
});

describe.concurrent('a call that fails', () => {
  it.each([
    [
      ['persons.retrieve', '--param', 'id=999999'],
      1,
      'the service rejects the request (GET /persons/:id answered 404: not_found)',
    ],
    [['playlists.retrieve', '--param', 'short_id=nope'], 1, 'answered 404'],
    [['insights.trend', '--body', '{"query":"{"}'], 1, 'POST /insights/trend answered 400'],
    [['persons.retrieve'], 2, 'the endpoint needs id\n  add --param id=…'],
    [['persons.retrieve', '--param', 'id=ann'], 2, 'wrong parameters: id: '],
    [['persons.delete', '--param', 'id=0x2'], 2, 'wrong parameters: id: '],
    [['persons.delete', '--param', 'id= 4'], 2, 'wrong parameters: id: '],
    [['persons.delete', '--param', 'id=4', '--param', 'delete_events=yes'], 2, 'wrong parameters: delete_events: '],
    [['persons.delete_property', '--param', 'id=1'], 2, 'wrong parameters: $unset: '],
    [['persons.list', '--param', 'limit=1e3'], 2, 'wrong parameters: limit: '],
    [['persons.list', '--param', 'limit=0'], 2, 'wrong parameters: limit: '],
    [['persons.list', '--param', 'colour=red'], 2, 'the endpoint has no parameter colour\n  it takes limit, offset, '],
    [['persons.list', '--param', 'ann@example.com'], 2, '--param takes name=value'],
    [['persons.list', '--body', '{}'], 2, 'persons.list takes no body\n  leave --body out'],
    [['persons.update', '--param', 'id=1', '--body', '{"ann@example.com'], 2, '--body is not valid JSON'],
    [['persons.nonsense'], 2, "'persons.nonsense' is invalid for argument 'endpoint'"],
  ])('says why in one sentence: %j', async (args, code, words) => {
    const ended = await workspace.run(['call', ...args]);
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toMatch(/^error: [^\n]+\n {2}[^\n]+\n$/);
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toContain('ann@example.com');
  });
});
