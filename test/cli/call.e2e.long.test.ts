import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpointNames, endpoints, type EndpointName } from '../../src/contract/endpoints.ts';
import { jsonOf, runCli } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

let workspace: Workspace;
type ListReply = { body: { results: { id: string | number }[] } };
let ids: Record<'person' | 'victim' | 'playlist' | 'recording', string | number | undefined>;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 20, recordings: 5 });
  const list = async (name: string): Promise<{ id: string | number }[]> => {
    const { body } = jsonOf(await workspace.run(['call', name, '--json'])) as ListReply;
    return body.results;
  };
  const [person, victim] = await list('persons.list');
  const [recording] = await list('recordings.list');
  ids = { person: person?.id, victim: victim?.id, recording: recording?.id, playlist: workspace.sandbox.playlists[0] };
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** What each endpoint is called with, and what its documented answer looks like; `null` is no body. */
const calls: Record<EndpointName, () => { args: string[]; body: object | null }> = {
  'insights.trend': () => ({ args: ['--body', '{"name":"Visits"}'], body: null }),
  'persons.list': () => ({ args: ['--param', 'limit=3'], body: { count: 20, results: expect.any(Array) } }),
  'persons.retrieve': () => ({ args: person(), body: { id: ids.person, uuid: expect.any(String) } }),
  'persons.update': () => ({
    args: [...person(), '--body', '{"properties":{"plan":"pro"}}'],
    body: { id: ids.person, properties: expect.objectContaining({ plan: 'pro' }) },
  }),
  'persons.delete': () => ({ args: ['--param', `id=${ids.victim}`, '--param', 'delete_events=true'], body: null }),
  'persons.activity': () => ({ args: person(), body: null }),
  'persons.delete_property': () => ({ args: [...person(), '--param', '$unset=plan'], body: null }),
  'persons.properties_timeline': () => ({ args: person(), body: null }),
  'persons.split': () => ({ args: person(), body: null }),
  'playlists.retrieve': () => ({ args: playlist(), body: { short_id: ids.playlist } }),
  'playlists.update': () => ({
    args: [...playlist(), '--body', '{"deleted":true}'],
    body: { short_id: ids.playlist, deleted: true },
  }),
  'playlists.delete': () => ({ args: playlist(), body: null }),
  'playlists.recordings': () => ({ args: playlist(), body: null }),
  'playlists.add_recording': () => ({ args: membership(), body: null }),
  'playlists.remove_recording': () => ({ args: membership(), body: null }),
  'recordings.list': () => ({ args: [], body: { count: 5, results: expect.any(Array) } }),
  'recordings.retrieve': () => ({ args: ['--param', `id=${ids.recording}`], body: { id: ids.recording } }),
};

const person = (): string[] => ['--param', `id=${ids.person}`];
const playlist = (): string[] => ['--param', `short_id=${ids.playlist}`];
const membership = (): string[] => [...playlist(), '--param', `session_recording_id=${ids.recording}`];

describe('call', () => {
  it.each(endpointNames)('%s answers as documented', async (name) => {
    const { args, body } = calls[name]();
    const ended = await workspace.run(['call', name, '--json', ...args]);
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
    const refused = await workspace.run(['call', 'playlists.delete', ...playlist()]);
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
