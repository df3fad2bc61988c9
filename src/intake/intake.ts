import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import { startReceiver, type Asked, type Receiver, type Told } from './receiver.ts';

/** A project that requests can be made for. */
type IntakeProject = { name: string; jobContext: (signal: AbortSignal) => JobContext };

/** What the intake works with. `onError` hears the code of an error that a call was answered with. */
export type IntakeSetup = {
  settings: Settings['intake'] & { port: number };
  projects: readonly IntakeProject[];
  clock: Clock;
  onError: (code: string) => void;
};

/** What the thread of the intake is given. */
export type IntakeTask = { settings: IntakeSetup['settings'] };

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
  const { settings, projects, clock, onError } = setup;
  refuseUnknownProjects(setup);
  const receivers = new Map<string, Receiver>(
    projects.map(({ name, jobContext }) => [name, startReceiver(jobContext, clock)]),
  );
  const [only] = receivers.values();
  const task: IntakeTask = { settings };
  // It needs nothing of the environment, where the API key is.
  const thread = new Worker(new URL('./intake-thread.ts', import.meta.url), { workerData: task, env: {} });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const tell = (message: ToIntake): void => thread.postMessage(message);
  const ended = once(thread, 'exit');
  const { promise: started, resolve, reject } = Promise.withResolvers<string>();
  thread.on('message', (message: FromIntake) => {
    if ('url' in message) resolve(message.url);
    else if ('refused' in message) reject(new AppError(message.refused.message, message.refused));
    else if ('failed' in message) onError(message.failed);
    else {
      const { call, project, asked } = message;
      const receiver = project === null ? only : receivers.get(project);
      void receiver?.ask(asked).then((told) => tell({ call, told }));
    }
  });
  const url = await started;
  return {
    url,
    close: async () => {
      tell({ close: true });
      await ended;
      await Promise.all([...receivers.values()].map((receiver) => receiver.close()));
    },
  };
}

function refuseUnknownProjects({ settings, projects }: IntakeSetup): void {
  const names = projects.map(({ name }) => name);
  for (const { name, project } of settings.senders)
    if (project === null ? names.length > 1 : !names.includes(project))
      throw new AppError(`intake.senders: ${name} is of no project that there is`, {
        code: 'usage',
        hint: `set its \`project\` to one of ${names.join(', ')}`,
      });
}
