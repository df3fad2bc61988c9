import { expect, it, onTestFinished } from 'vitest';
import { bodyOf, localServer } from '../client/local-server.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const inJson = { 'content-type': 'application/json' };
const denial = { type: 'authentication_error', code: 'permission_denied', detail: 'You do not have viewer access.' };

it('a recording and a playlist that the service refuses the key keep nothing else from being mirrored, judged and erased', async () => {
  const workspace = await openWorkspace({ persons: 20, recordings: 6 });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const { sandbox } = workspace;
  const [refused = '', shown = ''] = sandbox.playlists;
  const { documents } = sandbox.store.recordings.page({ limit: 1, offset: 0 });
  const { id: hidden } = JSON.parse(documents[0] ?? '') as { id: string };
  const withoutHidden = (text: string): string => {
    const { results, ...list } = JSON.parse(text) as { results: { id: string }[]; count: number };
    return JSON.stringify({ ...list, count: list.count - 1, results: results.filter(({ id }) => id !== hidden) });
  };
  let isHiding = false;
  const { origin } = await localServer(async (request, response) => {
    const { method = 'GET', url = '', headers } = request;
    const isRefused = isHiding && (url.includes(`/session_recordings/${hidden}/`) || url.includes(`/${refused}/`));
    if (isRefused) return response.writeHead(403, inJson).end(JSON.stringify(denial));
    const sent = { authorization: headers.authorization ?? '', ...(method === 'GET' ? {} : inJson) };
    const body = method === 'GET' ? null : await bodyOf(request);
    const answer = await fetch(`${sandbox.url}${url}`, { method, headers: sent, body });
    const text = await answer.text();
    response.writeHead(answer.status, answer.status === 204 ? {} : inJson);
    return response.end(isHiding && url.includes('/session_recordings/?') ? withoutHidden(text) : text);
  });
  const set = [...unlimited, '--set', `playlists.shortIds=[${refused}, ${shown}]`, '--log-level', 'error'];
  const run = (...args: string[]) => workspace.run([...args, ...set], { env: { MIRROR_BASE_URL: origin } });
  expect(await run('sync')).toMatchObject({ code: 0 });
  isHiding = true;
  const lists = await run('sync');
  expect(lists).toMatchObject({ code: 1 });
  expect(lists.stderr).toMatch(
    /^error: the API key may not do this .*session_recordings.*may read the list of recordings/,
  );
  const playlists = await run('sync', 'playlists');
  expect(playlists).toMatchObject({ code: 4 });
  expect(playlists.stdout).toContain(`${refused} (the service refuses it to this key)`);
  const [person] = sandbox.living();
  const added = await run('erase', 'add', '--uuid', person?.uuid ?? '', '--basis', 'objection', '--by', 'T-1');
  expect(added).toMatchObject({ code: 0 });
  expect(await run('reconcile')).toMatchObject({ code: 1 });
  expect([...sandbox.living()].map(({ uuid }) => uuid)).not.toContain(person?.uuid);
});
