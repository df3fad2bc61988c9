import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from './machine.ts';
import { linesOf, readPage, sectionOf } from './page.ts';
import type { Reader } from './reader.ts';
import { until } from './world.ts';

/** One way to run the program, by what the page says of it. */
export type Way = {
  /** What one does before it runs: the row of the page's table of what to type; null for the command itself. */
  byHand: string | null;
  running: string | null;
  /** Where the configuration, the data and backups are, by their paths on the machine, and whose they are. */
  file: string;
  data: string;
  backups: string;
  owner: string;
  /** The backups' folder as the program sees it. */
  backupTo: string;
  letItRun(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Whether its commands need the running worker, as in a container. */
  needsWorker: boolean;
  /** Names a file with a secret to the program, which is not running then. */
  nameSecret(variable: string, name: string, text: string): void;
  /** Opens the folder of the backups to the program, which is not running then. */
  openBackups(): void;
  upgrade(): void;
};

const page = readPage('docs/start.md');
const linesUnder = (heading: string): string[] => linesOf(sectionOf(page, heading));
/** What the page says about an upgrade, in a sentence. */
const pulled = linesOf(sectionOf(page, 'Upgrade')).filter((line) => line.startsWith('git pull'));

/** The package, and its worker in a terminal. */
export function plainWay(machine: Machine, reader: Reader): Way {
  let worker: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    worker = machine.start('analytics-mirror run', '/run/tutorial/worker');
    await delay(500);
  };
  const folder = '/home/reader/analytics-mirror/mirror';
  return {
    byHand: null,
    running: null,
    file: `${folder}/analytics-mirror.yaml`,
    data: `${folder}/data`,
    backups: '/srv/backup',
    backupTo: '/srv/backup',
    owner: 'root:root',
    letItRun: start,
    start,
    stop: async () => {
      const ended = new Promise((resolve) => worker?.once('exit', resolve));
      worker?.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) throw new Error(`The worker ended with ${String(code)}`);
    },
    needsWorker: false,
    nameSecret: (variable, name, text) => {
      reader.type(`install -m 600 /dev/null ${name} && cat > ${name}`, { stdin: text });
      reader.type(`export ${variable}=$PWD/${name}`);
    },
    openBackups: () => {},
    upgrade: () => {
      const [install = ''] = linesUnder('1. Install');
      reader.type(`(cd .. && ${install})`);
    },
  };
}

export function systemdWay(_machine: Machine, reader: Reader): Way {
  const folder = '/etc/analytics-mirror';
  return {
    byHand: 'a checkout',
    running: 'systemd',
    file: `${folder}/analytics-mirror.yaml`,
    data: '/var/lib/analytics-mirror',
    backups: '/srv/backup',
    backupTo: '/srv/backup',
    owner: 'analytics-mirror:analytics-mirror',
    letItRun: async () => {
      const lines = linesUnder('systemd');
      // The tutorial's mirror comes along, before the first start.
      for (const line of lines) {
        if (line.includes('systemctl enable')) {
          reader.type('cp -a data /var/lib/analytics-mirror && chown -R analytics-mirror: /var/lib/analytics-mirror');
        }
        reader.type(line);
      }
    },
    start: async () => void reader.type('systemctl start analytics-mirror'),
    stop: async () => void reader.type('systemctl stop analytics-mirror'),
    needsWorker: false,
    nameSecret: (variable, name, text) => {
      reader.type(`install -m 0640 -g analytics-mirror /dev/null ${folder}/${name} && cat > ${folder}/${name}`, {
        stdin: text,
      });
      reader.type(`echo ${variable}=${folder}/${name} >> ${folder}/environment`);
    },
    openBackups: () => {
      reader.type('install -d -m 0700 -o analytics-mirror -g analytics-mirror /srv/backup');
    },
    upgrade: () => {
      for (const line of pulled) reader.type(`(cd /opt/analytics-mirror && ${line})`);
    },
  };
}

export function imageWay(machine: Machine, reader: Reader): Way {
  const folder = '/srv/analytics-mirror';
  const lines = linesUnder('Docker');
  const run = lines.find((line) => line.startsWith('docker run')) ?? '';
  const options: string[] = [];
  /** The page's own line, with options before the name of the image, which is its last word. */
  const runAnew = (): void => {
    reader.type('docker rm analytics-mirror');
    reader.type(run.replace(/ analytics-mirror$/, ` ${options.join(' ')} analytics-mirror`));
  };
  let isAnew = false;
  return {
    byHand: 'a checkout',
    running: 'Docker',
    file: `${folder}/analytics-mirror.yaml`,
    data: '/var/lib/docker-stand-in/analytics-mirror',
    backups: '/srv/backup',
    backupTo: '/backup',
    owner: '1000:1000',
    letItRun: async () => {
      reader.type(`(cd .. && ${(lines[0] ?? '').replace(/ *#.*/, '')})`);
      const keys = machine.ask(['find', '/images', '-name', 'api-key', '-o', '-name', 'mirror.db']).stdout;
      if (keys !== '') throw new Error(`The build took the reader's key or data along: ${keys}`);
      reader.typeAll(lines.slice(1));
      const health = ['docker', 'inspect', '--format', '{{.State.Health.Status}}', 'analytics-mirror'];
      await until('the container is healthy', () => machine.ask(health).stdout === 'healthy\n');
    },
    start: async () => {
      if (isAnew) runAnew();
      else reader.type('docker start analytics-mirror');
      isAnew = false;
    },
    stop: async () => void reader.type('docker stop analytics-mirror'),
    needsWorker: true,
    nameSecret: (variable, name, text) => {
      reader.type(`install -m 0400 -o 1000 /dev/null ${folder}/${name} && cat > ${folder}/${name}`, { stdin: text });
      options.push(`--env ${variable}=/etc/analytics-mirror/${name}`);
      isAnew = true;
    },
    openBackups: () => {
      reader.type('install -d -m 0700 -o 1000 -g 1000 /srv/backup');
      options.push('--volume /srv/backup:/backup');
      isAnew = true;
    },
    upgrade: () => {
      reader.type(`(cd .. && ${(lines[0] ?? '').replace(/ *#.*/, '')})`);
      isAnew = true;
    },
  };
}
