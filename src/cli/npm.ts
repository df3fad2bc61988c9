import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { Environment } from '../config/environment.ts';
import { usageError } from '../core/errors.ts';

/** What people type for this program: built JavaScript is the installed command, TypeScript is a checkout. */
export const typedAs = import.meta.url.endsWith('.ts') ? 'npm run --silent mirror --' : 'analytics-mirror';

const lookEveryMs = 500;
const packageFile = fileURLToPath(new URL('../../package.json', import.meta.url));

/** Whether this process is a script of this package, which npm runs in the package's folder. */
function isOwnScript(environment: Environment): boolean {
  return environment['npm_package_json'] === packageFile && environment['npm_lifecycle_event'] !== undefined;
}

/** Goes to the folder where npm was called, so that files named on the command line are found from there. */
export function standWhereNpmWasCalled(environment: Environment): void {
  const { INIT_CWD: calledIn } = environment;
  if (calledIn && isOwnScript(environment) && process.cwd() === dirname(packageFile)) process.chdir(calledIn);
}

/** Calls `end` once when the npm that runs this process is gone: npm ends its shell at most, and not what the shell runs. */
export function whenNpmIsGone(environment: Environment, end: () => void): void {
  if (!isOwnScript(environment) && environment['npm_lifecycle_event'] !== 'npx') return;
  const began = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === began) return;
    clearInterval(timer);
    end();
  }, lookEveryMs);
  timer.unref();
}

/** The parent and, on Linux, its parent: a shell and npm. Both change when one of them ends. */
function ancestors(): string {
  const parent = process.ppid;
  try {
    return `${parent} ${/\) \S (\d+)/.exec(readFileSync(`/proc/${parent}/stat`, 'utf8'))?.[1] ?? ''}`;
  } catch {
    return `${parent}`;
  }
}

/**
 * Throws `usage` where npm has taken an option for itself: without `--` before the command, `npm run mirror reconcile
 * --dry-run` runs `reconcile`. `--yes` is left out, as people set it for npm.
 */
export function refuseTakenOptions(command: Command, environment: Environment): void {
  if (!isOwnScript(environment)) return;
  const names = optionNames(command).filter((name) => name !== 'yes');
  const taken = names.find((name) => environment[`npm_config_${name.replaceAll('-', '_')}`]);
  if (taken)
    throw usageError(
      `npm has taken --${taken} for itself`,
      'write `--` before the command: npm run --silent mirror -- …',
    );
}

/** The names of the options that a command takes, with those of the commands above it. */
function optionNames({ options, parent }: Command): string[] {
  return [...options.flatMap(({ long }) => long?.slice(2) ?? []), ...(parent ? optionNames(parent) : [])];
}
