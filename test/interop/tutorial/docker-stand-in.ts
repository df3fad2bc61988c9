import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { build, imageFolder, readImage } from './docker-build.ts';
import { folderOf, noteUntried, quoted, runningPid, startService, stopService } from './services.ts';

// docker for one machine: it builds by docker-build.ts, and runs a container in namespaces of its own, on the files of its image, which
// nobody can write. The network is the machine's.

/** A container as `docker run` describes it. */
type Container = {
  image: string;
  volumes: { from: string; to: string; isReadOnly: boolean }[];
  temporary: string[];
  environment: string[];
  stopSeconds: number;
  command: string[];
};

const untried = 'a Docker engine: its network, its default filter of system calls, --memory';

function unknown(words: readonly string[]): Error {
  return new Error(`The stand-in for docker does not know: ${words.join(' ')}`);
}

/** What `docker run` is told. Only what the tutorial says is known, and all of that is needed. */
function readRun(words: readonly string[]): { name: string; isDetached: boolean; container: Container } {
  const container: Container = { image: '', volumes: [], temporary: [], environment: [], stopSeconds: 10, command: [] };
  let name = `run-${process.pid}`;
  const switches = new Set<string>();
  const rest = [...words];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (['--detach', '--read-only', '--rm', '--interactive'].includes(word)) switches.add(word);
    else if (!word.startsWith('--')) {
      Object.assign(container, { image: word, command: rest.splice(0) });
    } else {
      const value = rest.shift() ?? '';
      const [from = '', to = '', mode] = value.split(':');
      if (word === '--name') name = value;
      else if (word === '--tmpfs') container.temporary.push(value);
      else if (word === '--env') container.environment.push(value);
      else if (word === '--stop-timeout') container.stopSeconds = Number(value);
      else if (word === '--volume') container.volumes.push({ from, to, isReadOnly: mode === 'ro' });
      else if (!/^(?:--cap-drop ALL|--security-opt no-new-privileges|--memory \w+)$/.test(`${word} ${value}`))
        throw unknown(['run', word, value]);
    }
  }
  if (!switches.has('--read-only') || !words.includes('ALL') || !words.includes('no-new-privileges'))
    throw unknown(['run without --read-only, --cap-drop ALL or --security-opt no-new-privileges']);
  return { name, isDetached: switches.has('--detach'), container };
}

/** The folder of a volume. A new one gets what the image has there, with its owner. */
function volumeFolder(from: string, to: string, image: string): string {
  if (from.startsWith('/')) {
    mkdirSync(from, { recursive: true });
    return from;
  }
  const folder = join('/var/lib/docker-stand-in', from);
  if (existsSync(folder)) return folder;
  mkdirSync(join(folder, '..'), { recursive: true });
  spawnSync('cp', ['-a', join(imageFolder(image), 'upper', to), folder]);
  return folder;
}

/** The process of a container, with its user, without rights, as a line for a shell. */
function processLine({ image, environment }: Container, words: readonly string[]): string {
  const { environment: own, folder, user } = readImage(image);
  const [uid, gid] = user.split(':');
  const clock = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`;
  const variables = [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME=/home/node',
    clock,
    ...own,
  ];
  return (
    `env -i ${[...variables, ...environment].map(quoted).join(' ')} ` +
    `setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- ` +
    `sh -c ${quoted(`cd ${folder} && exec "$@"`)} - ${words.map(quoted).join(' ')}`
  );
}

function containerScript(name: string, container: Container): string {
  const { entrypoint, command } = readImage(container.image);
  const root = join(folderOf(name), 'root');
  mkdirSync(root, { recursive: true });
  const words = [...entrypoint, ...(container.command.length > 0 ? container.command : command)];
  const volumes = container.volumes.flatMap(({ from, to, isReadOnly }) => [
    `mount --bind ${volumeFolder(from, to, container.image)} ${root}${to}`,
    ...(isReadOnly ? [`mount -o remount,bind,ro ${root}${to}`] : []),
  ]);
  const points = container.volumes.map(({ to }) => to).filter((to) => !existsSync(join('/host', to)));
  // Docker makes the folders to mount on, in a layer of the container's own.
  const layer = join(folderOf(name), 'layer');
  for (const to of ['run/tutorial', 'checkout', ...points]) mkdirSync(join(layer, to), { recursive: true });
  return [
    `mount -t overlay overlay -o lowerdir=${layer}:${imageFolder(container.image)}/upper:/host ${root}`,
    // A machine's files are those of the host, but for these.
    ...['home', 'root', 'opt', 'srv', 'var/lib', 'run'].map(
      (each) => `mount -t tmpfs -o mode=755 tmpfs ${root}/${each}`,
    ),
    ...['run/tutorial', 'checkout'].map((each) => `mkdir -p ${root}/${each}; mount --bind /${each} ${root}/${each}`),
    ...volumes,
    ...container.temporary.map(
      (each) => `mount -t tmpfs -o ${each.replace(/^.*:/, '')} tmpfs ${root}${each.replace(/:.*$/, '')}`,
    ),
    `mount --rbind /dev ${root}/dev; mount -t tmpfs -o mode=1777,size=64m tmpfs ${root}/dev/shm; mount -t proc proc ${root}/proc`,
    `hostname ${name}-${Date.now().toString(16)}`,
    `exec /usr/sbin/chroot ${root} ${processLine(container, words)}`,
  ].join('\n');
}

const namespaces = ['--pid', '--uts', '--ipc', '--fork', '--kill-child'];
const known = (name: string): string => join(folderOf(name), 'container.json');
const read = (name: string): Container => JSON.parse(readFileSync(known(name), 'utf8')) as Container;

async function start(name: string): Promise<void> {
  await startService(name, namespaces, containerScript(name, read(name)));
}

function exec(words: readonly string[]): number {
  const isInteractive = words[0] === '--interactive' || words[0] === '-i';
  const [name = '', ...command] = words.slice(isInteractive ? 1 : 0);
  const pid = runningPid(name);
  if (pid === null) throw new Error(`Container ${name} is not running`);
  const script = `exec ${processLine(read(name), command)}`;
  const flags = ['--mount', '--pid', '--uts', '--ipc', '--root', '--wd'];
  const stdio = [isInteractive ? 'inherit' : 'ignore', 'inherit', 'inherit'] as const;
  return (
    spawnSync('nsenter', ['--target', String(pid), ...flags, 'sh', '-c', script], { stdio: [...stdio] }).status ?? 1
  );
}

async function stop(name: string): Promise<void> {
  await stopService(name, read(name).stopSeconds);
}

async function run(words: readonly string[]): Promise<void> {
  const { name, isDetached, container } = readRun(words);
  if (existsSync(known(name))) throw new Error(`The container name "${name}" is already in use`);
  mkdirSync(folderOf(name), { recursive: true });
  writeFileSync(known(name), JSON.stringify(container));
  noteUntried([untried]);
  if (isDetached) return start(name);
  const script = `set -eu\n${containerScript(name, container)}`;
  const { status } = spawnSync('unshare', ['--mount', ...namespaces, 'sh', '-c', script], { stdio: 'inherit' });
  rmSync(folderOf(name), { recursive: true });
  process.exitCode = status ?? 1;
}

const [verb = '', ...rest] = process.argv.slice(2);
const last = rest.at(-1) ?? '';
if (verb === 'build' && rest[0] === '-t' && rest.length === 3) build(rest[1] ?? '', resolve(last));
else if (verb === 'run') await run(rest);
else if (verb === 'exec') process.exitCode = exec(rest);
else if (verb === 'stop') await stop(last);
else if (verb === 'start') await start(last);
else if (verb === 'restart') {
  await stop(last);
  await start(last);
} else if (verb === 'rm' && rest.length === 1) rmSync(known(last));
else if (verb === 'inspect') {
  const status = exec([last, ...readImage(read(last).image).health]);
  process.stdout.write(status === 0 ? 'healthy\n' : 'unhealthy\n');
} else throw unknown([verb, ...rest]);
