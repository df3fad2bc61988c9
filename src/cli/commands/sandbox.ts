import { once } from 'node:events';
import { InvalidArgumentError, type Command } from 'commander';
import { AppError } from '../../core/errors.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { printResult } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatDuration } from '../format.ts';

type SandboxFlags = {
  persons: number;
  recordings: number;
  seed: number;
  port: number;
  dir?: string;
  profile: string;
  churn?: string;
  faults?: string;
  rate?: string;
};

/** Adds `sandbox`: the documented service, on loopback, until it is stopped. */
export function addSandboxCommand(program: Command, context: CommandContext): void {
  program
    .command('sandbox')
    .description('serve the documented service on loopback, with generated data')
    .option('--profile <name>', 'how it answers: documented', 'documented')
    .option('--persons <count>', 'persons to generate', wholeNumber, 1000)
    .option('--recordings <count>', 'recordings to generate', wholeNumber, 200)
    .option('--seed <number>', 'the same seed gives the same data', wholeNumber, 1)
    .option('--port <number>', 'where to listen; 0 takes any free port', portNumber, 0)
    .option('--dir <folder>', 'keep the data in a folder instead of in memory')
    .option('--churn <rate>', 'change persons while they are paged')
    .option('--faults <kind>', 'answer with faults')
    .option('--rate <limit>', 'answer 429 above a rate')
    .addHelpText(
      'after',
      `
Examples:
  analytics-mirror sandbox --persons 100000 --recordings 20000 --port 8010
  analytics-mirror sandbox --json --seed 7 --dir ./sandbox-data`,
    )
    .action(async (_options: unknown, command: Command) => {
      const flags = command.opts<SandboxFlags>();
      refuseUnknown(flags);
      const startedAt = performance.now();
      const { persons, recordings, seed, port, dir } = flags;
      const sandbox = await startSandbox({ persons, recordings, seed, port, dir });
      const { url, projectId, apiKey, readOnlyKey, playlists } = sandbox;
      printResult(context, command, {
        json: { url, projectId, apiKey, readOnlyKey, playlists },
        text: `The documented service, ready in ${formatDuration(performance.now() - startedAt)} with ${formatCount(persons)} persons and ${formatCount(recordings)} recordings.

  API page        ${url}/
  OpenAPI         ${url}/openapi.json
  playlists       ${playlists.join(' ')}
  read-only key   ${readOnlyKey}

In another terminal:

  export MIRROR_BASE_URL=${url} MIRROR_PROJECT_ID=${projectId}
  export MIRROR_API_KEY=${apiKey}
  npm run --silent mirror -- sync

Stop it with Ctrl+C.
`,
      });
      if (!context.signal.aborted) await once(context.signal, 'abort');
      await sandbox.close();
    });
}

function refuseUnknown({ profile, churn, faults, rate }: SandboxFlags): void {
  const refused = [
    ...(profile === 'documented' ? [] : [`--profile ${profile}`]),
    ...(churn === undefined ? [] : ['--churn']),
    ...(faults === undefined ? [] : ['--faults']),
    ...(rate === undefined ? [] : ['--rate']),
  ];
  if (refused.length > 0)
    throw new AppError(`this version's sandbox does not know ${refused.join(', ')}`, {
      code: 'usage',
      hint: 'leave it out; the sandbox serves --profile documented',
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('write a whole number');
  return Number(text);
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('a port is at most 65535');
  return port;
}
