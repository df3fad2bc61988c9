import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, matchesGlob, relative } from 'node:path';
import { listOf, stagesOf, variablesOf, type Instruction, type Stage } from './dockerfile.ts';

/** What an image tells a container, as the Dockerfile has it. */
export type Image = {
  environment: string[];
  folder: string;
  user: string;
  volumes: string[];
  entrypoint: string[];
  command: string[];
  health: string[];
};

const imagesFolder = '/images';
/** Where the base image has Node, and whom it calls by this number. */
const baseUser = 'node:x:1000:1000::/home/node:/bin/sh';

/** The folder of an image: `upper` has its files above those of this machine, `image.json` the rest. */
export function imageFolder(name: string): string {
  return join(imagesFolder, name);
}

/** An image that was built. Throws if there is none of this name. */
export function readImage(name: string): Image {
  return JSON.parse(readFileSync(join(imageFolder(name), 'image.json'), 'utf8')) as Image;
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The base image `node:24-slim`: this machine's files, the Node of the tutorial, and the user `node`. */
function openBase(folder: string): string {
  const root = join(folder, 'root');
  for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name), { recursive: true });
  run(
    'mount',
    '-t',
    'overlay',
    'overlay',
    '-o',
    `lowerdir=/host,upperdir=${folder}/upper,workdir=${folder}/work`,
    root,
  );
  for (const name of ['tmp', 'proc', 'run/tutorial', 'checkout']) mkdirSync(join(root, name), { recursive: true });
  cpSync('/usr/local/bin/node', join(root, 'usr/local/bin/node'));
  for (const [file, line] of [
    ['etc/passwd', baseUser],
    ['etc/group', 'node:x:1000:'],
  ] as const) {
    const others = readFileSync(join(root, file), 'utf8').split('\n');
    const kept = others.filter((each) => each !== '' && !/^node:|^[^:]*:[^:]*:1000:/.test(each));
    writeFileSync(join(root, file), `${[...kept, line].join('\n')}\n`);
  }
  run('mount', '--rbind', '/dev', join(root, 'dev'));
  run('mount', '-t', 'proc', 'proc', join(root, 'proc'));
  run('mount', '--bind', '/run/tutorial', join(root, 'run/tutorial'));
  run('mount', '--bind', '/checkout', join(root, 'checkout'));
  for (const name of ['etc/resolv.conf', 'etc/hosts']) cpSync(join('/', name), join(root, name));
  return root;
}

/** Whether a path of the build's folder is left out by `.dockerignore`. */
function isLeftOut(patterns: readonly string[], path: string): boolean {
  const parts = path.split('/');
  const parents = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  return parents.some((parent) => patterns.some((pattern) => matchesGlob(parent, pattern)));
}

function copy(context: string, roots: ReadonlyMap<string, string>, root: string, text: string, folder: string): void {
  const [, stage, from = '', to = ''] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(text) ?? [];
  const source = stage === undefined ? join(context, from) : join(roots.get(stage) ?? '', from);
  const ignore = join(context, '.dockerignore');
  const patterns = stage === undefined && existsSync(ignore) ? readFileSync(ignore, 'utf8').split('\n') : [];
  cpSync(source, join(root, to.startsWith('/') ? to : join(folder, to)), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) =>
      !isLeftOut(
        patterns.filter((each) => each !== ''),
        relative(context, path),
      ),
  });
}

const unknown = ({ name, text }: Instruction): Error =>
  new Error(`The stand-in for docker build does not know: ${name} ${text}`);

function buildStage(stage: Stage, context: string, roots: ReadonlyMap<string, string>, root: string): Image {
  if (!/^node:24\b/.test(stage.from)) throw new Error(`The stand-in for docker build has no image ${stage.from}`);
  const image: Image = {
    environment: [],
    folder: '/',
    user: '0:0',
    volumes: [],
    entrypoint: [],
    command: [],
    health: [],
  };
  for (const instruction of stage.instructions) {
    const { name, text } = instruction;
    if (name === 'ENV') image.environment.push(...variablesOf(text));
    else if (name === 'WORKDIR') mkdirSync(join(root, (image.folder = text)), { recursive: true });
    else if (name === 'COPY') copy(context, roots, root, text, image.folder);
    else if (name === 'RUN') {
      const kept = ['npm_config_cache', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'npm_config_registry'];
      const own = kept.flatMap((key) => (process.env[key] === undefined ? [] : [`${key}=${process.env[key]}`]));
      const variables = ['PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/root', ...own, ...image.environment];
      run('/usr/sbin/chroot', root, 'env', '-i', ...variables, 'sh', '-c', `cd ${image.folder} && ${text}`);
    } else if (name === 'USER') image.user = text;
    else if (name === 'VOLUME') image.volumes.push(text);
    else if (name === 'ENTRYPOINT') image.entrypoint = listOf(text);
    else if (name === 'CMD') image.command = listOf(text);
    else if (name === 'HEALTHCHECK') image.health = listOf(text);
    else if (name !== 'STOPSIGNAL' || text !== 'SIGTERM') throw unknown(instruction);
  }
  return image;
}

/** Follows the instructions of a Dockerfile, in roots of their own, and keeps the last stage under a name. */
export function build(name: string, context: string): void {
  const roots = new Map<string, string>();
  const stages = stagesOf(readFileSync(join(context, 'Dockerfile'), 'utf8'));
  for (const stage of stages) {
    const isLast = stage === stages.at(-1);
    const folder = isLast ? imageFolder(name) : join(imagesFolder, `${name}-${stage.name}`);
    run('rm', '-rf', folder);
    const root = openBase(folder);
    roots.set(stage.name, root);
    const image = buildStage(stage, context, roots, root);
    if (isLast) writeFileSync(join(folder, 'image.json'), JSON.stringify(image));
  }
  for (const root of roots.values()) run('umount', '--recursive', root);
}
