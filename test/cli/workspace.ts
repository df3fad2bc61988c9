import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { runCli, startCli, surroundedBy, type Ended, type Running, type Surroundings } from './run-cli.ts';

/** A fresh folder, a served project, and commands that work on both. Dispose of it to remove all. */
export type Workspace = AsyncDisposable & {
  folder: string;
  dataDir: string;
  sandbox: Sandbox;
  env: Record<string, string>;
  /** Runs a command on the project and the data folder; the environment given is added. */
  run: (args: readonly string[], surroundings?: Surroundings) => Promise<Ended>;
  start: (args: readonly string[], surroundings?: Surroundings) => Running;
};

/** What no test waits for: the limits of a real service. */
export const unlimited = ['--set', 'budget.windows=[]', '--set', 'budget.recordings.windows=[]'];

/** Serves a project in this process and makes a folder for its mirror. */
export async function openWorkspace(options: Partial<SandboxOptions> = {}): Promise<Workspace> {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-e2e-'));
  const sandbox = await startSandbox({ persons: 120, recordings: 30, seed: 3, port: 0, hostile: true, ...options });
  const dataDir = join(folder, 'data');
  const env = {
    MIRROR_BASE_URL: sandbox.url,
    MIRROR_PROJECT_ID: sandbox.projectId,
    MIRROR_API_KEY: sandbox.apiKey,
    MIRROR_DATA_DIR: dataDir,
  };
  return {
    folder,
    dataDir,
    sandbox,
    env,
    run: (args, surroundings) => runCli(args, surroundedBy(env, surroundings)),
    start: (args, surroundings) => startCli(args, surroundedBy(env, surroundings)),
    [Symbol.asyncDispose]: async () => {
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
