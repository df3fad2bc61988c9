import { once } from 'node:events';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { usageError } from '../../core/errors.ts';
import { readJson } from '../../core/exact-json.ts';
import { countText, durationText } from '../../core/words.ts';
import { LiveOptions } from '../../sandbox/live/live-data.ts';
import { faultKinds } from '../../sandbox/faults/fault-plan.ts';
import { profileNames, type ProfileName } from '../../sandbox/open-sandbox-store.ts';
import { parseRateLimits, type RateLimit } from '../../sandbox/rate-limits.ts';
import { startSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { typedAs } from '../npm.ts';
import { printResult, type CommandAction, type CommandContext } from '../command.ts';

type SandboxFlags = SandboxOptions & { profile: ProfileName; rate?: RateLimit[] };

/** Defines `sandbox`: serves the documented service on loopback until it is stopped. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addOption(
      new Option('--profile <name>', 'the service as documented, or with the deviations of live services')
        .choices(profileNames)
        .default('documented'),
    )
    .option('--live <name=value>', 'an option of the live profile (see below); may be repeated', liveOption)
    .option('--persons <count>', 'the number of persons to generate', wholeNumber, 1000)
    .option('--recordings <count>', 'the number of recordings to generate', wholeNumber, 200)
    .option('--seed <number>', 'the same seed gives the same data', wholeNumber, 1)
    .option('--hostile', 'add values that many programs cannot read: lone surrogates, NUL, integers beyond 64 bits')
    .option('--port <number>', 'the port to listen on; 0 takes any free port', portNumber, 0)
    .option('--dir <folder>', 'keep the data in a folder instead of in memory')
    .option('--churn <rate>', 'how many times the data changes per request, between pages, as 0.5', changeRate)
    .addOption(new Option('--faults <kind>', 'make one request in seven fail in this way').choices(faultKinds))
    .option(
      '--rate <limits>',
      'answer 429 above a rate per key, as 10/s, 480/min or 4800/h; may be repeated',
      rateLimits,
    );
  return {
    help: `
Examples:
  analytics-mirror sandbox --persons 100000 --recordings 20000 --port 8010
  analytics-mirror sandbox --json --seed 7 --dir ./sandbox-data
  analytics-mirror sandbox --profile live --churn 0.5 --faults mixed --rate 480/min,4800/h
  analytics-mirror sandbox --profile live --live ghostShare=0 --live personsLimitMax=1000

Options of the live profile, for --live:
${liveOptionTexts.join('\n')}`,
    act: async (flags: SandboxFlags) => {
      if (flags.live && flags.profile !== 'live')
        throw usageError('--live is for the live profile', 'add --profile live');
      const startedAt = performance.now();
      const sandbox = await startSandbox({ ...flags, rates: flags.rate });
      const { url, projectId, apiKey, readOnlyKey, playlists } = sandbox;
      printResult(context, command, {
        json: { url, projectId, apiKey, readOnlyKey, playlists },
        text: `The ${flags.profile} service, ready in ${durationText(performance.now() - startedAt)} with ${countText(flags.persons)} persons and ${countText(flags.recordings)} recordings.

  OpenAPI         ${url}/openapi.json
  playlists       ${playlists.join(' ')}
  read-only key   ${readOnlyKey}

In another terminal:

  export MIRROR_BASE_URL=${url} MIRROR_PROJECT_ID=${projectId}
  export MIRROR_API_KEY=${apiKey}
  ${typedAs} sync

Stop it with Ctrl+C.
`,
      });
      if (!context.signal.aborted) await once(context.signal, 'abort');
      await sandbox.close();
    },
  };
}

const liveOptionTexts = Object.entries(LiveOptions.shape).map(
  ([name, schema]) => `  ${name} (${String(schema.def.defaultValue)}): ${schema.description}`,
);

/** Adds an option of the live profile, as `ghostShare=0.1`, to those before it. */
function liveOption(text: string, earlier: Partial<LiveOptions> = {}): Partial<LiveOptions> {
  const at = text.indexOf('=');
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || !Object.hasOwn(LiveOptions.shape, name))
    throw new InvalidArgumentError(`write NAME=VALUE; the names are ${Object.keys(LiveOptions.shape).join(', ')}`);
  const schema = LiveOptions.shape[name as keyof LiveOptions];
  const parsed = schema.safeParse(readJson(value) ?? value);
  if (!parsed.success) throw new InvalidArgumentError(`${name} is ${schema.description}`);
  return { ...earlier, [name]: parsed.data };
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

function changeRate(text: string): number {
  if (!/^\d{1,4}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('write a number, as 0.5');
  return Number(text);
}

function rateLimits(text: string, earlier: RateLimit[] = []): RateLimit[] {
  const limits = parseRateLimits(text);
  if (!limits) throw new InvalidArgumentError('write it as 10/s, 480/min or 4800/h');
  return [...earlier, ...limits];
}
