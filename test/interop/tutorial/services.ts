import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The folder of what a service of the tutorial's machine leaves, as its process id and what it printed. */
export function folderOf(name: string): string {
  return `/run/tutorial/services/${name}`;
}

/** A text of a path inside single quotes of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Starts a service: a script that prepares the mounts of new namespaces, and ends with `exec`. Resolves once the script runs.
 */
export async function startService(name: string, namespaces: readonly string[], script: string): Promise<void> {
  const folder = folderOf(name);
  mkdirSync(folder, { recursive: true });
  rmSync(`${folder}/pid`, { force: true });
  const log = openSync(`${folder}/log`, 'a');
  // The shell reads this file itself, so the number in it is the shell's.
  const tell = `read -r pid rest </proc/self/stat; echo "$pid" >${folder}/pid.new; mv ${folder}/pid.new ${folder}/pid`;
  writeFileSync(`${folder}/script`, `set -eu\n${tell}\n${script}\n`);
  const args = ['--mount', ...namespaces, 'sh', `${folder}/script`];
  spawn('unshare', args, { detached: true, stdio: ['ignore', log, log] }).unref();
  for (let round = 0; !existsSync(`${folder}/pid`); round += 1) {
    if (round > 200) throw new Error(`${name} did not start: ${readFileSync(`${folder}/log`, 'utf8')}`);
    await delay(50);
  }
}

/** The process id of a service that runs; null if none does. */
export function runningPid(name: string): number | null {
  try {
    const pid = Number(readFileSync(`${folderOf(name)}/pid`, 'utf8'));
    // One that has ended, and whose parent has not asked for it, is a zombie.
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')) ? null : pid;
  } catch {
    return null;
  }
}

function endOfLog(name: string): string {
  return readFileSync(`${folderOf(name)}/log`, 'utf8')
    .split('\n')
    .slice(-12)
    .join('\n');
}

/** Ends the main process of a service with SIGTERM. Throws, and kills it, if it has not ended in time. */
export async function stopService(name: string, seconds: number): Promise<void> {
  const pid = runningPid(name);
  if (pid === null) throw new Error(`${name} does not run: ${readFileSync(`${folderOf(name)}/log`, 'utf8')}`);
  process.kill(pid, 'SIGTERM');
  const endsAt = Date.now() + seconds * 1000;
  while (runningPid(name) !== null) {
    if (Date.now() > endsAt) {
      process.kill(pid, 'SIGKILL');
      throw new Error(`${name} did not stop within ${seconds} seconds:\n${endOfLog(name)}`);
    }
    await delay(50);
  }
}

/** Adds to the list of what the stand-ins cannot try, each once. */
export function noteUntried(what: readonly string[]): void {
  const file = '/run/tutorial/untried';
  const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  writeFileSync(file, [...new Set([...before, ...what])].filter((line) => line !== '').join('\n'));
}
