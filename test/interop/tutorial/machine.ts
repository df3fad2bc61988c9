import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/** What a typed line did. */
export type Ended = { code: number; stdout: string; stderr: string };

/**
 * A machine of the tutorial: the files of this one, of which a change is seen by nobody else and gone at the end, its own processes,
 * and a network of which only loopback is there. This process has to be in mount and process namespaces of its own.
 */
export type Machine = {
  /** The folder of a path of the machine, as this process sees it. */
  path(path: string): string;
  /** Types a line into a shell that keeps its folder and its exported variables. npm and Docker's builds reach the registry. */
  type(line: string, options?: { stdin?: string; reachesRegistry?: boolean }): Ended;
  /** Starts a line in the same shell, in the background; what it prints goes to a file. */
  start(line: string, output: string): ChildProcess;
  /** The text of a file; empty where there is none. */
  read(path: string): string;
  /** What a command says, beside the shell and its variables. */
  ask(words: readonly string[]): Ended;
  /** Sets the clock of every program on the machine ahead. */
  setAhead(seconds: number): void;
};

/** No line takes longer; a build of the image, with npm's answers, takes one minute on two cores. */
const lineTimeoutMs = 300_000;
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const checkout = fileURLToPath(new URL('../../../', import.meta.url));
const preload = '/checkout/test/interop/tutorial/clock.ts';
/** What stands in for a command that needs a system that is not there, by its place on the machine. */
const standIns = { docker: 'docker-stand-in.ts', systemctl: 'systemctl-stand-in.ts', sudo: 'sudo-stand-in.sh' };
/** How the registry is reached: its address, a proxy, the network's certificate authorities. */
const kept = Object.entries(process.env).filter(([name]) =>
  /^(?:SSL_|NODE_EXTRA_CA|npm_config_registry|https?_proxy)/i.test(name),
);

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

/** Opens a machine in an empty folder. */
export async function openMachine(folder: string): Promise<Machine> {
  const root = join(folder, 'root');
  openRoot(folder, root);
  const network = await openNetwork();
  const path = (inside: string): string => join(root, inside);
  const cache = run('npm', 'config', 'get', 'cache').trim();
  mkdirSync(path('/run/tutorial'), { recursive: true });
  chmodSync(path('/run/tutorial'), 0o755);
  mkdirSync(path('/home/reader'), { recursive: true });
  const environment = {
    ...Object.fromEntries(kept),
    PATH: searchPath,
    HOME: '/home/reader',
    NODE_OPTIONS: `--import file://${preload}`,
    npm_config_cache: cache,
    npm_config_update_notifier: 'false',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '*',
  };
  const words = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(path('/run/tutorial/environment'), words.join(''));
  writeFileSync(path('/run/tutorial/folder'), '/home/reader');
  const inside = (script: string, reachesRegistry: boolean): string[] => [
    ...(reachesRegistry ? [] : ['nsenter', `--net=/proc/${network}/ns/net`]),
    'env',
    '-i',
    `PATH=${searchPath}`,
    'chroot',
    root,
    '/bin/bash',
    '--norc',
    '-c',
    script,
  ];
  const enter = 'cd "$(cat /run/tutorial/folder)" && . /run/tutorial/environment';
  const keep = 'code=$?; declare -px >/run/tutorial/environment; pwd >/run/tutorial/folder; exit $code';
  const machine: Machine = {
    path,
    type: (line, { stdin = '', reachesRegistry = false } = {}) => {
      writeFileSync(path('/run/tutorial/line'), `${line}\n`);
      const [command = '', ...args] = inside(`${enter}; . /run/tutorial/line; ${keep}`, reachesRegistry);
      // A service that the line starts goes on, so what it prints goes to files: a pipe would stay open.
      const [out, err] = ['out', 'err'].map((name) => openSync(path(`/run/tutorial/${name}`), 'w')) as [number, number];
      const options = { input: stdin, timeout: lineTimeoutMs, killSignal: 'SIGKILL' } as const;
      const { status } = spawnSync(command, args, { ...options, stdio: ['pipe', out, err] });
      for (const file of [out, err]) closeSync(file);
      const [stdout, stderr] = ['out', 'err'].map((name) => readFileSync(path(`/run/tutorial/${name}`), 'utf8'));
      return { code: status ?? -1, stdout: stdout ?? '', stderr: stderr ?? '' };
    },
    start: (line, output) => {
      const [command = '', ...args] = inside(`${enter}; exec ${line}`, false);
      const file = openSync(path(output), 'a');
      return spawn(command, args, { stdio: ['ignore', file, file] });
    },
    read: (inside) => (existsSync(path(inside)) ? readFileSync(path(inside), 'utf8') : ''),
    ask: (words) => {
      const [command = '', ...args] = inside('exec "$@"', false);
      const { status, stdout, stderr } = spawnSync(command, [...args, '-', ...words], {
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      return { code: status ?? -1, stdout, stderr };
    },
    setAhead: (seconds) => writeFileSync(path('/run/tutorial/ahead'), String(seconds * 1000)),
  };
  machine.setAhead(0);
  return machine;
}

/** Mounts the files of the machine. */
function openRoot(folder: string, root: string): void {
  run('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', folder);
  for (const name of ['upper', 'work', 'root', 'images']) mkdirSync(join(folder, name));
  run('mount', '-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work`, root);
  for (const name of ['checkout', 'host', 'images']) mkdirSync(join(root, name));
  run('mount', '--rbind', '/dev', join(root, 'dev'));
  run('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', join(root, 'dev/shm'));
  run('mount', '-t', 'proc', 'proc', join(root, 'proc'));
  run('mount', '--bind', checkout, join(root, 'checkout'));
  run('mount', '-o', 'remount,bind,ro', join(root, 'checkout'));
  // Images stand on the files of this machine, not on those of the tutorial's.
  run('mount', '--bind', '/', join(root, 'host'));
  run('mount', '--bind', join(folder, 'images'), join(root, 'images'));
  // An engine of containers mounts these files, which a view of the root folder does not have.
  for (const name of ['etc/resolv.conf', 'etc/hosts']) writeFileSync(join(root, name), readFileSync(join('/', name)));
  const bin = join(root, 'usr/local/bin');
  for (const [name, file] of Object.entries(standIns)) {
    const command = file.endsWith('.sh') ? 'sh' : 'node';
    run('rm', '-f', join(bin, name));
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} /checkout/test/interop/tutorial/${file} "$@"\n`, {
      mode: 0o755,
    });
  }
  run('cp', process.execPath, join(bin, 'node'));
}

/** Opens a network with loopback only, and returns the process that keeps it. */
async function openNetwork(): Promise<number> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo up && exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    holder.stdout.once('data', resolve);
    holder.once('exit', () => reject(new Error('no network of its own could be opened')));
  });
  holder.unref();
  return holder.pid ?? 0;
}
