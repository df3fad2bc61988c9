import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { noteUntried, quoted, startService, stopService } from './services.ts';

// systemctl for one unit: it starts ExecStart as the unit's user, in its folder, with its environment file and with as much of its
// sandbox as mounts, limits and capabilities give.

type Unit = Map<string, string>;

function readUnit(name: string): Unit {
  const lines = readFileSync(`/etc/systemd/system/${name}.service`, 'utf8').split('\n');
  const directives = lines.map((line) => /^(\w+)=(.*)$/.exec(line)).filter((match) => match !== null);
  return new Map(directives.map(([, key = '', value = '']) => [key, value]));
}

/** The mounts of a directive, as lines for a shell; in the order in which they have to be made. */
const mounts: Record<string, (value: string) => string> = {
  PrivateTmp: () => 'mount -t tmpfs -o mode=1777 tmpfs /tmp; mount -t tmpfs -o mode=1777 tmpfs /var/tmp',
  ProtectHome: () => 'for each in /home /root; do mount -t tmpfs -o mode=755,ro tmpfs $each; done',
  PrivateDevices: () =>
    'mkdir -p /run/dev; mount -t tmpfs -o mode=755 tmpfs /run/dev; for each in null zero full random urandom tty; do ' +
    'touch /run/dev/$each; mount --bind /dev/$each /run/dev/$each; done; mkdir /run/dev/shm; ' +
    'mount -t tmpfs -o mode=1777 tmpfs /run/dev/shm; mount --rbind /run/dev /dev',
  ProtectSystem: () => 'mount -o remount,bind,ro /',
  ProtectProc: (value) => `mount -t proc -o hidepid=${value} proc /proc`,
};
const namespaces: Record<string, string> = { PrivateIPC: '--ipc', ProtectHostname: '--uts' };
/** Directives that the start of the process follows, or that say when systemd acts. */
const followed = new Set(
  (
    'User Group WorkingDirectory EnvironmentFile ExecStart UMask LimitCORE NoNewPrivileges CapabilityBoundingSet ' +
    'AmbientCapabilities StateDirectory StateDirectoryMode KillMode TimeoutStopSec Type Description Documentation Wants ' +
    'After WantedBy'
  ).split(' '),
);

function valueOf(unit: Unit, key: string): string {
  const value = unit.get(key);
  if (value === undefined) throw new Error(`The unit has no ${key}`);
  return value;
}

/** The variables of an environment file: systemd reads lines, and no shell. */
function variablesOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line));
}

function startScript(unit: Unit): string {
  const user = valueOf(unit, 'User');
  const group = valueOf(unit, 'Group');
  const state = `/var/lib/${valueOf(unit, 'StateDirectory')}`;
  const own = Object.entries(mounts).flatMap(([key, lines]) => (unit.has(key) ? [lines(valueOf(unit, key))] : []));
  const variables = [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin',
    `USER=${user}`,
    `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`,
    ...variablesOf(valueOf(unit, 'EnvironmentFile')),
  ];
  return [
    `mkdir -p ${state}; chown ${user}:${group} ${state}; chmod ${valueOf(unit, 'StateDirectoryMode')} ${state}`,
    // What stays open to writing is a mount of its own when the root is closed.
    `mount --bind ${state} ${state}`,
    ...own,
    `cd ${valueOf(unit, 'WorkingDirectory')}; umask ${valueOf(unit, 'UMask')}`,
    `exec prlimit --core=${valueOf(unit, 'LimitCORE')} setpriv --reuid ${user} --regid ${group} --init-groups --no-new-privs \\`,
    `  --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- env -i ${variables.map(quoted).join(' ')} ${valueOf(unit, 'ExecStart')}`,
  ].join('\n');
}

async function start(name: string, unit: Unit): Promise<void> {
  const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
  const file = `/etc/systemd/system/${name}.service`;
  const verified = isThere ? spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' }) : null;
  if (verified && (verified.status !== 0 || verified.stderr.includes(name))) throw new Error(verified.stderr);
  const keys = [...unit.keys()];
  const open = keys.filter((key) => !followed.has(key) && !(key in mounts) && !(key in namespaces));
  noteUntried([...open.map((key) => `${key}=${valueOf(unit, key)}`), ...(isThere ? [] : ['systemd-analyze verify'])]);
  const own = Object.entries(namespaces).flatMap(([key, flag]) => (unit.has(key) ? [flag] : []));
  await startService(name, own, startScript(unit));
}

const [command = '', ...rest] = process.argv.slice(2);
const name = rest.at(-1) ?? '';
if (!/^(?:start|stop|restart|enable)$/.test(command) || (command === 'enable' && rest[0] !== '--now'))
  throw new Error(`The stand-in for systemctl does not know: ${command} ${rest.join(' ')}`);
const unit = readUnit(name);
if (command === 'stop' || command === 'restart') await stopService(name, Number(valueOf(unit, 'TimeoutStopSec')));
if (command !== 'stop') await start(name, unit);
