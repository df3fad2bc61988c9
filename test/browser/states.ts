import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Overview } from '../../src/status/overview.ts';
import { copyFolder } from '../cli/copy-folder.ts';
import { startCli } from '../cli/run-cli.ts';
import { calm, liveThrough, type Noon, type Past } from './past.ts';

/** A page that a running worker serves. Dispose of it to end the worker and its service. */
export type Shown = AsyncDisposable & { url: string };

/** Where a state is prepared: a folder of its own, and what is to be ended after it. */
type Stage = { folder: string; ends: (() => unknown)[] };

/** What a page is to say before it is shown. */
type Wanted = (overview: Overview) => boolean;

const minuteMs = 60_000;
const waitMsMax = 4 * minuteMs;

const isQuiet: Wanted = ({ projects }) =>
  projects.every(({ jobs }) => jobs.every(({ runningSince }) => runningSince === null));

/** Whatever is scheduled has run, and nothing runs. */
const isIdle: Wanted = (overview) =>
  isQuiet(overview) && overview.projects.every(({ jobs }) => jobs.every(({ lastAt }) => lastAt !== null));

function failsWith(reason: string): Wanted {
  return (overview) =>
    isQuiet(overview) && overview.projects.some(({ jobs }) => jobs.some(({ failing }) => failing?.reason === reason));
}

/** What still runs, has never run or fails, for the one who wonders why a state does not come. */
function notYet({ projects }: Overview): string {
  return projects
    .flatMap(({ name, problem, jobs }) => [
      ...(problem === null ? [] : [`${name}: ${problem}`]),
      ...jobs
        .filter(({ runningSince, lastAt, failing }) => runningSince !== null || lastAt === null || failing !== null)
        .map(({ job, runningSince, failing }) => `${name} ${job} ${failing?.reason ?? runningSince ?? 'never'}`),
    ])
    .join(', ');
}

/** Starts the worker as a process of its own, and waits until its page says what is wanted. */
async function serve(
  { folder, ends }: Stage,
  env: Record<string, string>,
  isWanted: Wanted,
  set: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const options = Object.entries({ ...calm, 'status.port': 0, ...set }).flatMap(([path, value]) => [
    '--set',
    `${path}=${JSON.stringify(value)}`,
  ]);
  const worker = startCli(['run', '--json', ...options], { env: { HOME: folder, ...env }, timeoutMs: 10 * minuteMs });
  ends.push(async () => {
    worker.child.kill('SIGTERM');
    await worker.ended;
  });
  const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
  const deadlineMs = Date.now() + waitMsMax;
  for (;;) {
    const overview = (await (await fetch(`${statusUrl}/status.json`)).json()) as Overview;
    if (overview.projects.length > 0 && isWanted(overview)) return statusUrl;
    if (Date.now() > deadlineMs) throw new Error(`the page never said so: ${notYet(overview)}`);
    await delay(200);
  }
}

function dataDirOf({ folder }: Stage): string {
  return join(folder, 'data');
}

/** The environment of a worker beside a service. */
function beside(stage: Stage, { url, projectId, apiKey }: Pick<Sandbox, 'url' | 'projectId' | 'apiKey'>) {
  return {
    MIRROR_BASE_URL: url,
    MIRROR_PROJECT_ID: projectId,
    MIRROR_API_KEY: apiKey,
    MIRROR_DATA_DIR: dataDirOf(stage),
  };
}

/** A service that takes every connection and never answers. */
async function silentService(ends: Stage['ends']): Promise<string> {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address at which nothing listens. */
async function deadAddress(): Promise<string> {
  const ends: Stage['ends'] = [];
  const url = await silentService(ends);
  for (const end of ends) end();
  return url;
}

async function openSandbox({ ends }: Stage, persons: number): Promise<Sandbox> {
  const sandbox = await startSandbox({ persons, recordings: 60, seed: 5, port: 0 });
  ends.push(() => sandbox.close());
  return sandbox;
}

/** Lets a worker live through some days in the folder of the stage. */
async function past(stage: Stage, days: number, atNoon: Past['atNoon'], more: Partial<Past> = {}): Promise<Sandbox> {
  const when = { days, endMs: Date.now(), persons: 200 };
  const sandbox = await liveThrough({ dataDir: dataDirOf(stage), ...when, atNoon, ...more });
  stage.ends.push(() => sandbox.close());
  return sandbox;
}

/** What happens every day at the service: some come, some change, some go. */
function ordinaryDay({ day, sandbox }: Noon): void {
  const living = [...sandbox.living()];
  for (let index = 0; index < 3 + (day % 4); index += 1)
    sandbox.act({ do: 'create', distinct_ids: [`visitor-${day}-${index}`] });
  const [first, second, third] = living.slice(10 + day);
  if (first && second && day % 2 === 0) sandbox.act({ do: 'merge', loser: first.uuid, survivor: second.uuid });
  if (third && day % 3 === 0) sandbox.act({ do: 'delete', uuid: third.uuid });
}

async function eraseOne({ day, sandbox, erase }: Noon): Promise<void> {
  const person = [...sandbox.living()].at(50 + day);
  if (person) await erase('uuid', person.uuid);
}

/** One address leads to two people, so the request is held. */
async function askForTwins({ day, sandbox, erase }: Noon): Promise<void> {
  if (day !== 1) return;
  const email = 'shared@example.com';
  for (const device of ['phone', 'desk'])
    sandbox.act({ do: 'create', distinct_ids: [`shared-${device}`], properties: { email } });
  await erase('email', email);
}

const projectNames =
  'app blog books cards docs forum games help jobs legacy maps music news outlet photos returns shop staging travel video';

/** Seventeen projects that are well, and three that are not: a refused key of its own, no answer, and a held request. */
async function twenty(stage: Stage): Promise<string> {
  const { folder } = stage;
  const sandbox = await past(stage, 2, eraseOne, { persons: 100 });
  const heldStage = { ...stage, folder: mkdtempSync(join(folder, 'held-')) };
  const held = await past(heldStage, 2, askForTwins, { persons: 100 });
  const keyFile = (name: string, key: string): string => {
    const path = join(folder, `${name}-key`);
    writeFileSync(path, key, { mode: 0o600 });
    return path;
  };
  const own: Readonly<Record<string, object>> = {
    legacy: { apiKeyFile: keyFile('legacy', 'phx_wrong') },
    outlet: { service: { baseUrl: await deadAddress() } },
    returns: { apiKeyFile: keyFile('returns', held.apiKey), service: { baseUrl: held.url } },
  };
  const projects = projectNames.split(' ').map((name) => {
    const dataDir = join(folder, 'projects', name);
    copyFolder(dataDirOf(name === 'returns' ? heldStage : stage), dataDir);
    return Object.assign({ name, dataDir }, own[name]);
  });
  // Every project looks at its newest rows at once.
  const minute = new Date(Date.now() - minuteMs).getUTCMinutes();
  const set = { 'schedule.head': `${minute} * * * *`, projects };
  const isWanted: Wanted = (overview) =>
    isIdle(overview) && failsWith('key_refused')(overview) && failsWith('unreachable')(overview);
  return serve(stage, beside(stage, sandbox), isWanted, set);
}

const makers: Readonly<Record<string, (stage: Stage) => Promise<string>>> = {
  fresh: async (stage) => {
    const url = await silentService(stage.ends);
    const service = { url, projectId: '1', apiKey: 'phx_new' };
    return serve(stage, beside(stage, service), (overview) => !isQuiet(overview));
  },
  'first-pass': async (stage) => {
    const env = beside(stage, await openSandbox(stage, 5000));
    const isHalf: Wanted = ({ projects: [project] }) => (project?.content?.rows.persons ?? 0) > 2000;
    const set = { 'budget.windows': [{ requests: 26, perSeconds: 10 }], 'persons.pageSize': 100 };
    return serve(stage, env, isHalf, set);
  },
  healthy: async (stage) => {
    const sandbox = await past(stage, 21, async (noon) => {
      ordinaryDay(noon);
      if ([3, 9, 10, 19].includes(noon.day)) await eraseOne(noon);
    });
    return serve(stage, beside(stage, sandbox), isIdle);
  },
  held: async (stage) => {
    const sandbox = await past(stage, 3, async (noon) => {
      await askForTwins(noon);
      if (noon.day !== 2) return;
      for (const { uuid } of [...noon.sandbox.living()].slice(-40)) noon.sandbox.act({ do: 'delete', uuid });
    });
    return serve(stage, beside(stage, sandbox), isIdle);
  },
  'wrong-key': async (stage) => {
    const { url, projectId } = await openSandbox(stage, 100);
    return serve(stage, beside(stage, { url, projectId, apiKey: 'phx_wrong' }), failsWith('key_refused'));
  },
  'dead-service': async (stage) => {
    const sandbox = await past(stage, 2, ordinaryDay, { endMs: Date.now() - 61 * minuteMs });
    await sandbox.close();
    return serve(stage, beside(stage, sandbox), failsWith('unreachable'));
  },
  overdue: async (stage) => {
    // The request is received after the last weekly batch: what is due within a day cannot be done in time.
    const set = { 'erasure.dueDays': 1 };
    const sandbox = await past(stage, 3, (noon) => (noon.day === 2 ? eraseOne(noon) : undefined), { set });
    return serve(stage, beside(stage, sandbox), isIdle, set);
  },
  twenty,
};

/** The states of the page. */
export const stateNames = Object.keys(makers);

/** Brings about a state of the page, by the real worker beside a sandbox. */
export async function showState(name: string): Promise<Shown> {
  const make = makers[name];
  if (!make) throw new Error(`no state ${name}; there are ${stateNames.join(', ')}`);
  const stage: Stage = { folder: mkdtempSync(join(tmpdir(), 'page-')), ends: [] };
  const end = async (): Promise<void> => {
    for (const one of stage.ends.toReversed()) await one();
    rmSync(stage.folder, { recursive: true, force: true });
  };
  try {
    return { url: await make(stage), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}
