import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, type ErrorCode, usageError } from '../core/errors.ts';
import { readOrMakeKey } from '../core/secret-key.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { JobContext } from '../job/job-context.ts';
import { callBack } from './called-back.ts';
import { createCallbacks, type CalledBack } from './callbacks.ts';
import { startReceiver, type Asked, type Receiver, type Told } from './receiver.ts';

/** A project that requests can be made for. In its folder is the key from which the keys of its agents are made. */
type IntakeProject = { name: string; dataDir: string; jobContext: (signal: AbortSignal) => JobContext };

/** What the intake works with. `onError` hears the code of an error, what failed, and what helps. */
export type IntakeSetup = {
  settings: Settings['intake'] & { port: number };
  projects: readonly IntakeProject[];
  clock: Clock;
  callbacks: readonly CalledBack[];
  onError: (code: string, what: 'an answer' | 'a callback', fix?: string) => void;
};

/** What the thread of the intake is given. */
export type IntakeTask = { settings: IntakeSetup['settings']; tokens: ReadonlyMap<string, string> };

/** A message to the thread of the intake. */
export type ToIntake = { call: number; told: Told } | { close: true };

/** A message from the thread of the intake. `project`: the sender's; null for the only one. */
export type FromIntake =
  | { url: string }
  | { refused: { message: string; code: ErrorCode; hint: string | undefined } }
  | { call: number; project: string | null; asked: Asked }
  | { failed: string };

/** The intake, which a thread of its own serves. */
export type Intake = {
  /** Without a trailing slash. */
  url: string;
  /** Takes no new call, and resolves when those that were taken are answered. */
  close(): Promise<void>;
};

/**
 * Serves the intake. A thread of its own reads the calls and answers them, so that no job holds up an answer; this one takes them to
 * the ledger. Throws `usage` for a port that is taken, and for a sender of a project that is not there.
 */
export async function startIntake(setup: IntakeSetup): Promise<Intake> {
  const { projects, clock, onError } = setup;
  refuseUnknownProjects(setup);
  const receivers = new Map<string, Receiver>(
    projects.map(({ name, jobContext }) => [name, startReceiver(jobContext, clock)]),
  );
  const [only] = receivers.values();
  const calling = callSenders(setup);
  const task = taskOf(setup);
  // It needs nothing of the environment, where the API key is.
  const thread = new Worker(new URL('./intake-thread.ts', import.meta.url), { workerData: task, env: {} });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const tell = (message: ToIntake): void => thread.postMessage(message);
  const answer = async ({ call, project, asked }: Extract<FromIntake, { call: number }>): Promise<void> => {
    const receiver = project === null ? only : receivers.get(project);
    const told: Told = (await receiver?.ask(asked)) ?? { unavailable: 'unexpected' };
    if (!('receive' in asked && 'receipt' in told)) return tell({ call, told });
    const isNoted = await calling.note(asked.receive.authority.by.split('/')[0] ?? '', told.receipt.request);
    // The request is on the ledger. Its sender gets the receipt, and is called back, once it has sent the request again.
    tell({ call, told: isNoted ? told : { unavailable: 'storage', isKnown: told.isKnown } });
  };
  const ended = once(thread, 'exit');
  const { promise: started, resolve, reject } = Promise.withResolvers<string>();
  thread.on('message', (message: FromIntake) => {
    if ('url' in message) resolve(message.url);
    else if ('refused' in message) reject(new AppError(message.refused.message, message.refused));
    else if ('failed' in message) onError(message.failed, 'an answer');
    else void answer(message);
  });
  const url = await started;
  return {
    url,
    close: async () => {
      tell({ close: true });
      await ended;
      await Promise.all([calling.end(), ...[...receivers.values()].map((receiver) => receiver.close())]);
    },
  };
}

/** The settings for the thread: an agent's key is made, and stays as long as the agent's key in the directory does. */
function taskOf({ settings, projects }: IntakeSetup): IntakeTask {
  const tokens = new Map<string, string>();
  const senders = settings.senders.map((sender) => {
    if (!sender.agent) return sender;
    const { id, verifyKey } = sender.agent;
    const [only] = projects;
    const { dataDir = '' } = projects.find(({ name }) => name === sender.project) ?? only ?? {};
    const key = keyIn(dataDir);
    const token = createHmac('sha256', key)
      .update(JSON.stringify([id, verifyKey]))
      .digest('base64url');
    tokens.set(id, token);
    return { ...sender, keys: [sha256(token)] };
  });
  return { settings: { ...settings, senders }, tokens };
}

function keyIn(dataDir: string): Buffer {
  try {
    return readOrMakeKey(dataDir, 'intake.key');
  } catch (error) {
    throw explainStorageError(error, dataDir) ?? error;
  }
}

/** So often it is looked whether senders have to be told of something. It keeps no process that could not begin to listen. */
const lookEveryMs = 5_000;

/** Calls the senders of each project back until it is ended. */
function callSenders({ settings, projects, callbacks, clock, onError }: IntakeSetup) {
  const stopping = new AbortController();
  const [first] = projects;
  const projectOf = (name: string): string =>
    settings.senders.find((sender) => sender.name === name)?.project ?? first?.name ?? '';
  const hear = (error: unknown): void => {
    const { code, hint }: { code: string; hint?: string | undefined } =
      error instanceof AppError ? error : { code: 'unexpected' };
    if (!stopping.signal.aborted) onError(code, 'a callback', hint);
  };
  const all = projects.map(({ name, jobContext }) =>
    createCallbacks({
      context: () => jobContext(stopping.signal),
      clock,
      senders: callbacks.filter((to) => projectOf(to.name) === name),
      send: (to, message, headers) => callBack(to, message, headers, stopping.signal),
      onError: hear,
    }),
  );
  const underWay = new Set<Promise<void>>();
  const timer = setInterval(() => {
    for (const each of all) {
      const looking = each.look().finally(() => underWay.delete(looking));
      underWay.add(looking);
    }
  }, lookEveryMs).unref();
  return {
    /** Whether it is kept that a sender has to be told of its request. */
    note: async (sender: string, request: string): Promise<boolean> => {
      try {
        for (const each of all) await each.note(sender, request);
        return true;
      } catch (error) {
        hear(error);
        return false;
      }
    },
    end: async (): Promise<void> => {
      clearInterval(timer);
      stopping.abort(new AppError('interrupted', { code: 'interrupted' }));
      await Promise.all(underWay);
    },
  };
}

function refuseUnknownProjects({ settings, projects }: IntakeSetup): void {
  const names = projects.map(({ name }) => name);
  for (const { name, project } of settings.senders)
    if (project === null ? names.length > 1 : !names.includes(project))
      throw usageError(
        `intake.senders: ${name} is of no project that there is`,
        `set its \`project\` to one of ${names.join(', ')}`,
      );
}
