import type { Command } from 'commander';
import { createProjectApps } from '../../app/app.ts';
import type { ClusterDatabase } from '../../cluster/cluster-database.ts';
import { clusterOrders, newerReason, readRoster, type ClusterOrders, type Roster } from '../../cluster/roster.ts';
import { schemaVersion } from '../../mirror/migrate.ts';
import { usageError } from '../../core/errors.ts';
import { countedText, secondText } from '../../core/words.ts';
import { printResult, type CommandAction, type CommandContext, type CommandResult } from '../command.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { formatTable } from '../table.ts';

type Order = {
  /** What it is about, as its arguments. */
  about: readonly ('project' | 'machine')[];
  help: string;
  give: (orders: ClusterOrders, ...names: string[]) => Promise<string>;
};

const orders: Readonly<Record<string, Order>> = {
  pause: {
    about: ['project'],
    help: `
The holder ends the job that runs, puts the state into the bucket, and deletes its copy. Commands can still work on the
project.

Examples:
  analytics-mirror cluster pause shop`,
    give: async ({ pause }, project = '') => {
      await pause(project, true);
      return `${project} is paused: its jobs start no more until \`analytics-mirror cluster resume ${project}\``;
    },
  },
  resume: {
    about: ['project'],
    help: '\nExamples:\n  analytics-mirror cluster resume shop',
    give: async ({ pause }, project = '') => {
      await pause(project, false);
      return `${project} goes on as soon as a machine takes it`;
    },
  },
  move: {
    about: ['project', 'machine'],
    help: `
The holder ends the job that runs first. The project stays on that machine as long as it lives.

Examples:
  analytics-mirror cluster move shop mirror-2`,
    give: async ({ move }, project = '', machine = '') => {
      await move(project, machine);
      return `${project} goes to ${machine} after the job that runs`;
    },
  },
  drain: {
    about: ['machine'],
    help: `
The machine gives up each project after the job that runs, and takes no other until its worker starts again.

Examples:
  analytics-mirror cluster drain mirror-2`,
    give: async ({ drain }, machine = '') => {
      await drain(machine);
      return `${machine} gives up its projects, and takes none until its worker starts again`;
    },
  },
  forget: {
    about: ['machine'],
    help: `
Say this only of a disk that is gone for good: certificates stop waiting for the copies on it. Of a machine that goes on with a
new disk, name the copy that was on the old one.

Examples:
  analytics-mirror cluster forget mirror-2
  analytics-mirror cluster forget 9f3c2e5d70b14a6f8e21c0d9b7a65432`,
    give: async ({ forget }, machine = '') =>
      `${machine} is forgotten, with ${countedText(await forget(machine), 'copy', 'copies')}`,
  },
};

/** Defines `cluster list`, and the orders of an operator to a cluster. */
export function define(command: Command, context: CommandContext): CommandAction {
  const order = orders[command.name()];
  if (!order) {
    command.argument(
      '[text]',
      'only projects of this name or with it in their name, and those of the machine of this name',
    );
    return {
      help: `
A machine lives while its worker has been heard of for half a minute. A project that no machine holds is taken by the
next one that has room for it. Projects that no machine works on stand first.

Examples:
  analytics-mirror cluster list
  analytics-mirror cluster list shop
  analytics-mirror cluster list --json`,
      act: (text = '') =>
        withDatabase(command, context, async (database) => rosterResult(await readRoster(database), text)),
    };
  }
  const names: Readonly<Record<string, string>> = {
    project: 'its name in the configuration',
    machine: 'its name, as `analytics-mirror cluster list` lists it',
  };
  for (const name of order.about) command.argument(`<${name}>`, names[name]);
  return {
    help: order.help,
    act: (...given: string[]) =>
      withDatabase(command, context, async (database) => {
        const named = given.slice(0, order.about.length);
        const text = await order.give(clusterOrders(database), ...named);
        return { json: { done: command.name(), about: named }, text: `${text}\n` };
      }),
  };
}

/** Works with the database of the cluster, whichever projects are configured. */
async function withDatabase(
  command: Command,
  context: CommandContext,
  work: (database: ClusterDatabase) => Promise<CommandResult>,
): Promise<void> {
  const flags = settingsFlags(command.optsWithGlobals<GlobalOptions>(), context.environment);
  await using programs = createProjectApps(context, flags);
  const [{ clusterDatabase: database }] = programs.apps;
  if (!database)
    throw usageError('no cluster is configured', 'set cluster.database and cluster.storage (docs/cluster.md)');
  printResult(context, command, await work(database));
}

/** How much a project needs a person: the least first. */
function rankOf({ isSilent, holder, isPaused, wantedBy }: Roster['projects'][number]): number {
  return [isSilent, holder === null && !isPaused, wantedBy !== null, isPaused, true].indexOf(true);
}

function rosterResult({ projects: all, copies: left, ...roster }: Roster, text: string): CommandResult {
  const { machines } = roster;
  const copies = left.filter(({ project, machine }) => project.includes(text) || machine === text);
  const known = schemaVersion();
  const projects = all
    .filter(({ name, holder }) => name.includes(text) || holder === text)
    .toSorted((a, b) => rankOf(a) - rankOf(b));
  const machineTable = formatTable(
    ['machine', 'worker', { right: 'holds' }, { right: 'copies' }],
    machines.map(({ name, isLive, isDraining, isAble, projects: holds, copies }) => [
      name,
      isLive ? (isDraining ? 'drains' : isAble ? 'lives' : 'opens nothing') : 'gone',
      holds,
      copies,
    ]),
  );
  const projectTable = formatTable(
    ['project', 'held by', 'for', 'since', 'note'],
    projects.map(({ name, holder, purpose, since, isPaused, isSilent, home, wantedBy, schema }) => [
      name,
      holder ?? 'none',
      purpose ?? '',
      since === null ? '' : secondText(since),
      [
        ...(isSilent ? ['silent'] : []),
        ...(isPaused ? ['paused'] : []),
        ...(home === null ? [] : [`moved to ${home}`]),
        ...(wantedBy === null ? [] : [`wanted by ${wantedBy}`]),
        ...(newerReason({ schema }, known) === null ? [] : ['of a newer version']),
      ].join(', '),
    ]),
  );
  const copyTable = formatTable(
    ['copy left', 'of project', 'on'],
    copies.map(({ copy, project, machine }) => [copy, project, machine]),
  );
  const free = projects.filter(({ holder, isPaused }) => holder === null && !isPaused).length;
  const sum = `${countedText(projects.length, 'project')}, ${countedText(machines.filter(({ isLive }) => isLive).length, 'machine')} alive${free === 0 ? '' : `, ${countedText(free, 'project')} on no machine`}\n`;
  return {
    json: { ...roster, projects, copies },
    text: [machineTable, projectTable, ...(copies.length > 0 ? [copyTable] : []), sum].join('\n'),
  };
}
