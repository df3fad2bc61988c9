import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  documentedPathPrefix,
  endpointNames,
  endpoints,
  scopes,
  type Endpoint,
  type EndpointName,
} from '../../src/contract/endpoints.ts';
import { ErrorBody } from '../../src/contract/error-body.ts';
import { pageOf, Person, Playlist, Recording, RecordingPerson, User } from '../../src/contract/resources.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { askUrl, smallSandbox, type Answer } from './sandbox-requests.ts';

const strictPerson = Person.strict();
const strictRecording = Recording.extend({ person: RecordingPerson.strict() }).strict();
const strictPlaylist = Playlist.extend({ created_by: User.strict(), last_modified_by: User.strict() }).strict();

/** The documented responses, with no field more than the document shows. */
const strictResponses: Partial<Record<EndpointName, z.ZodType>> = {
  'persons.list': pageOf(strictPerson).strict(),
  'persons.retrieve': strictPerson,
  'persons.update': strictPerson,
  'playlists.retrieve': strictPlaylist,
  'playlists.update': strictPlaylist,
  'recordings.list': pageOf(strictRecording).strict(),
  'recordings.retrieve': strictRecording,
};

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await smallSandbox();
});
afterEach(() => sandbox.close());

/** Asks an endpoint about things that exist, with what it needs to succeed. */
function send(name: EndpointName, projectId: string, key: string | null, suffix = queryOf(name)): Promise<Answer> {
  const { method, path, body }: Endpoint = endpoints[name];
  const [shortId = ''] = sandbox.playlists;
  const [recordingId = ''] = sandbox.store.playlists.members(shortId);
  const target = path
    .replace(':id', name === 'recordings.retrieve' ? recordingId : '5')
    .replace(':short_id', shortId)
    .replace(':session_recording_id', recordingId);
  const url = `${sandbox.url}${documentedPathPrefix}/${projectId}${target}${suffix}`;
  return askUrl(url, { method, key, ...(body && { body: {} }) });
}

function queryOf(name: EndpointName): string {
  return name === 'persons.delete_property' ? '?$unset=plan' : '?';
}

function refusalOf({ status, text }: Answer): ErrorBody & { status: number } {
  return { status, ...ErrorBody.strict().parse(JSON.parse(text)) };
}

describe.each(endpointNames)('%s', (name) => {
  const endpoint: Endpoint = endpoints[name];

  it('refuses a request without a key, before anything else', async () => {
    expect(refusalOf(await send(name, 'unknown', null))).toMatchObject({ status: 401, code: 'not_authenticated' });
  });

  it('refuses an unknown key', async () => {
    const refusal = refusalOf(await send(name, sandbox.projectId, 'sandbox_unknown'));
    expect(refusal).toMatchObject({ status: 401, code: 'authentication_failed' });
  });

  it('refuses a key with every scope but the one it needs', async () => {
    const { scope } = endpoint;
    const others = scopes.filter((other) => other !== scope && other !== scope?.replace(':read', ':write'));
    sandbox.store.apiKeys.issue('sandbox_others', 1, others);
    const refusal = refusalOf(await send(name, 'unknown', 'sandbox_others'));
    expect(refusal).toMatchObject(
      scope === null
        ? { status: 404 }
        : { status: 403, code: 'permission_denied', detail: `API key missing required scope '${scope}'` },
    );
  });

  it('does not know another project', async () => {
    expect(refusalOf(await send(name, 'unknown', sandbox.apiKey))).toMatchObject({ status: 404, code: 'not_found' });
  });

  it.each(['', '/'])('answers as documented to a key of its one scope, its path ending in "%s"', async (slash) => {
    sandbox.store.apiKeys.issue('sandbox_only', 1, endpoint.scope === null ? [] : [endpoint.scope]);
    const { status, headers, text } = await send(name, sandbox.projectId, 'sandbox_only', slash + queryOf(name));
    const hasBody = endpoint.response !== null;
    expect({ status, type: headers.get('content-type'), hasBody: text !== '' }).toEqual({
      status: endpoint.status,
      type: hasBody ? 'application/json' : null,
      hasBody,
    });
    expect(headers.get('transfer-encoding')).toBeNull();
    expect(strictResponses[name]?.safeParse(JSON.parse(text)).error).toBeUndefined();
  });
});

const withFormat = endpointNames.filter((name) => 'format' in endpoints[name].query.shape);

it.each(withFormat)('%s takes csv and json as format, and refuses others', async (name) => {
  const refusal = refusalOf(await send(name, sandbox.projectId, sandbox.apiKey, '?format=xml'));
  expect(refusal).toMatchObject({ status: 400, code: 'invalid_input', attr: 'format' });
  const answer = await send(name, sandbox.projectId, sandbox.apiKey, `${queryOf(name)}&format=csv`);
  expect(answer.status).toBe(endpoints[name].status);
});

it('has a strict schema for every endpoint with a response', () => {
  const withResponse = endpointNames.filter((name) => (endpoints[name] as Endpoint).response !== null);
  expect(Object.keys(strictResponses).toSorted()).toEqual(withResponse.toSorted());
});
