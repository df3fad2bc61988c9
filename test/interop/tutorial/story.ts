import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';
import { blockOf, linesOf, readPage, sectionOf, typedInstead } from './page.ts';
import type { Expected, Reader } from './reader.ts';
import type { Way } from './ways.ts';
import { until, type World } from './world.ts';

/** The tutorial as somebody does it, chapter by chapter. */
export type Story = {
  expected: Expected;
  /** The address of the person who will be erased. Throws before the first pass. */
  address(): string;
  chapters(reader: Reader, way: Way): [what: string, tell: () => void | Promise<void>][];
};

const page = readPage('docs/start.md');
const section = (heading: string): string => sectionOf(page, heading);
const statusPage = 'http://127.0.0.1:8790';
const hourSeconds = 3600;
/** Somebody with recordings that can be asked for by their ids. */
const someone =
  "SELECT json_extract(properties, '$.email') FROM persons JOIN recordings ON person_uuid = uuid " +
  "WHERE recordings.id NOT GLOB '*[./]*' AND json_extract(properties, '$.email') LIKE '%@%' LIMIT 1";

function hold(what: string, isSo: boolean): void {
  if (!isSo) throw new Error(`This is not so: ${what}`);
}

/** The lines of a part of a page, of which there are some. */
function linesIn(words: string): string[] {
  const lines = linesOf(words);
  hold(`there is something to type in:\n${words}`, lines.length > 0);
  return lines;
}

type ListedRequest = { id: string; origin: string; eventsExpectedBy: string; certifiedAt: string | null };

function ownRequest(json: string): ListedRequest {
  const { requests } = JSON.parse(json) as { requests: ListedRequest[] };
  const [own, ...others] = requests.filter(({ origin }) => origin === 'manual');
  if (own === undefined || others.length > 0) throw new Error('There is not one request of the reader');
  return own;
}

export function openStory(machine: Machine, world: World): Story {
  let address: string | null = null;
  const before = world.truth();
  /** The first value that a query finds. */
  const valueOf = (reader: Reader, sql: string): unknown => {
    const { stdout } = reader.type(`analytics-mirror query --json "${sql.replaceAll('$', String.raw`\$`)}"`);
    return (JSON.parse(stdout) as { rows: unknown[][] }).rows[0]?.[0];
  };
  /** A live service lists three days of recordings without being asked for more. */
  const holdRecordings = (reader: Reader): void => {
    hold('the mirror has every recording', valueOf(reader, 'SELECT count(*) FROM recordings') === before.recordings);
    const old = "SELECT count(*) FROM recordings WHERE start_time < strftime('%Y-%m-%d', 'now', '-4 days')";
    hold('recordings older than three days are in the mirror', Number(valueOf(reader, old)) > before.recordings / 2);
  };
  const holdGone = (reader: Reader): void => {
    const sql = `SELECT count(*) FROM persons WHERE lower(properties) LIKE '%${String(address)}%'`;
    hold('the mirror does not have the erased person', valueOf(reader, sql) === 0);
  };
  const isReady = (): boolean => machine.ask(['curl', '--silent', '--fail', `${statusPage}/readyz`]).code === 0;
  const expected: Expected = [
    { line: 'analytics-mirror init', prints: (text) => text.includes('written: ') && !text.includes('failed') },
    { line: 'analytics-mirror sync', prints: (text) => (text.match(/ complete /g) ?? []).length >= 2 },
    {
      line: 'analytics-mirror query "SELECT count(*) FROM persons"',
      prints: (text) => text.includes(String(before.persons)),
    },
    { line: 'analytics-mirror snapshots', prints: (text) => text.includes('read_parquet') },
    { line: 'analytics-mirror erase drill', prints: (text) => text.includes('filed as') && !/ no$/m.test(text) },
    { line: 'analytics-mirror reconcile --dry-run', prints: (text) => /^[0-9a-f-]{36} /m.test(text) },
    { line: 'curl --fail --oauth2-bearer', prints: (text) => text === '' || text.includes('"received"') },
    { line: 'umask 077 && analytics-mirror where', prints: (text) => text === '' },
    { line: 'printf', prints: (text) => / email +[0-9a-f-]{36} /.test(text) },
  ];

  const chapters = (reader: Reader, way: Way): ReturnType<Story['chapters']> => {
    const table = typedInstead(section('1. Install'));
    const typeAs = (row: string | null): void => {
      const words = row === null ? 'analytics-mirror' : table.get(row);
      if (words === undefined) throw new Error(`The table of what to type has no row "${String(row)}"`);
      reader.typeInstead(words);
    };
    const restart = async (): Promise<void> => {
      await way.stop();
      await way.start();
      await until('the worker is ready', isReady);
    };
    const alerts = [...section('8. The first alert').matchAll(/`(alerts: \{[^`]*\})`/g)].map(
      ([, text = '']) => `${text}\n`,
    );
    const write = (change: (words: string) => string): void =>
      writeFileSync(machine.path(way.file), change(machine.read(way.file)));
    const kept = '--checkpoint kept.txt --public-key kept.pub';

    return [
      [
        'install',
        () => {
          reader.type('git clone --quiet <this repository> analytics-mirror && cd analytics-mirror');
          const [install = '', ...rest] = linesIn(section('1. Install'));
          reader.type(way.byHand === null ? install : 'npm ci');
          typeAs(way.byHand);
          reader.typeAll(rest);
        },
      ],
      [
        'key, configuration, first pass, first snapshot',
        () => {
          reader.typeAll(linesIn(section('2. Make a key')), { stdin: `${world.apiKey}\n` });
          for (const heading of ['3. Write the configuration', '4. The first pass', '5. The first snapshot'])
            reader.typeAll(linesIn(section(heading)));
          holdRecordings(reader);
          address = String(valueOf(reader, someone));
        },
      ],
      [
        'let it run',
        async () => {
          await way.letItRun();
          typeAs(way.running);
          await until('the worker is ready', isReady);
          reader.typeAll(linesIn(page.split('**Is all well?**')[1]?.split('\n## ')[0] ?? ''));
          holdRecordings(reader);
        },
      ],
      [
        'schedule',
        async () => {
          write((words) => words + blockOf(section('7. The first schedule'), 'yaml'));
          await restart();
          const { stdout } = reader.type('analytics-mirror config print');
          hold('the schedule of the page is in force', stdout.includes('0 2 * * 0') && stdout.includes('0 * * * *'));
        },
      ],
      [
        'alert',
        async () => {
          const [quiet = '', loud = ''] = alerts;
          const told = (): string[] => world.alerts().filter((text) => /disk|free/.test(text));
          await way.stop();
          way.nameSecret('MIRROR_ALERT_WEBHOOK_FILE', 'webhook', `${world.webhook}\n`);
          write((words) => words + loud);
          await way.start();
          await until('disk_low begins', () => told().length === 1);
          reader.typeAll(linesIn(section('8. The first alert')), { ends: 4 });
          write((words) => words.replace(loud, quiet));
          await restart();
          await until('disk_low ends', () => told().length === 2);
          reader.typeAll(linesIn(section('8. The first alert')));
        },
      ],
      [
        'backup',
        async () => {
          await way.stop();
          way.openBackups();
          await way.start();
          const lines = [
            ...linesIn(section('9. The first backup')),
            ...linesIn(readPage('docs/operations/backup.md').split('\n## ')[0] ?? ''),
          ];
          for (const line of lines) {
            reader.type(line.replace('--to /srv/backup', `--to ${way.backupTo}`));
            // A copy is named after its second.
            world.pass(1);
          }
          reader.type(`install -m 644 ${way.data}/ledger/public-keys.txt kept.pub`);
        },
      ],
      ['erasure', () => tellErasure(machine, world, reader, way)],
      [
        'the person is gone',
        () => {
          holdGone(reader);
          hold('the service has one person less', world.truth().persons === before.persons - 1);
        },
      ],
      [
        'restore',
        async () => {
          await way.stop();
          const moved = `${way.data}/../damaged`;
          reader.type(`mkdir ${moved} && mv ${way.data}/mirror.db* ${moved}`);
          reader.type(`cp "$(ls -d ${way.backups}/*/ | head -1)mirror.db" ${way.data}/mirror.db`);
          reader.type(`chown ${way.owner} ${way.data}/mirror.db && chmod 600 ${way.data}/mirror.db`);
          if (way.needsWorker) await way.start();
          const [steps = ''] = readPage('docs/operations/restore.md').split('\n## ');
          for (const line of linesIn(steps))
            reader.type(line.endsWith('audit verify') && !way.needsWorker ? `${line} ${kept}` : line);
          if (!way.needsWorker) await way.start();
          await until('the worker is ready', isReady);
          holdGone(reader);
        },
      ],
      [
        'upgrade',
        async () => {
          reader.type(`analytics-mirror backup --to ${way.backupTo}`);
          way.upgrade();
          await restart();
          reader.type('analytics-mirror --version');
          reader.type('analytics-mirror doctor');
          holdGone(reader);
        },
      ],
      [
        'requests over HTTP',
        async () => {
          const words = readPage('docs/intake.md');
          const [makeKey = '', ...rest] = linesIn(words.split('\n## Callbacks')[0] ?? '');
          const digest = reader.type(makeKey).stdout.slice(0, 64);
          write((settings) => settings + blockOf(words, 'yaml').replace('64 hex digits', digest));
          await restart();
          const id = /\b3f2a$|\b3f2a(?= )/;
          for (const line of rest) reader.type(id.test(line) ? line.replace(id, accessRequest(reader)) : line);
        },
      ],
    ];
  };
  return {
    expected,
    address: () => {
      if (address === null) throw new Error('No person was chosen');
      return address;
    },
    chapters,
  };
}

/** The id of the one request for access that is open. */
function accessRequest(reader: Reader): string {
  const { stdout } = reader.type('analytics-mirror access list --json');
  const { requests } = JSON.parse(stdout) as { requests: { id: string; isNamed: boolean }[] };
  hold('one request for access is open, and its person is named here', requests.length === 1 && !!requests[0]?.isNamed);
  return requests[0]?.id ?? '';
}

async function tellErasure(machine: Machine, world: World, reader: Reader, way: Way): Promise<void> {
  const lines = linesIn(section('10. The first erasure'));
  const certificate = lines.find((line) => line.startsWith('analytics-mirror audit certificate')) ?? '';
  reader.typeAll(lines.filter((line) => line !== certificate));
  const request = (): ListedRequest => ownRequest(reader.type('analytics-mirror erase list --all --json').stdout);
  const { id, eventsExpectedBy } = request();
  const nowMs = (): number => {
    const { stdout } = machine.ask(['curl', '--silent', `${world.url}/__sandbox/clock`]);
    return Date.parse((JSON.parse(stdout) as { now: string }).now);
  };
  // The service is asked for the person twice, for the recordings twice, and for the events once the weekly batch has run.
  for (let round = 0; request().certifiedAt === null; round += 1) {
    hold('the request is certified after eight reconciliations', round < 8);
    const toBatch = (Date.parse(eventsExpectedBy) - nowMs()) / 1000 + hourSeconds;
    world.pass(round === 4 ? toBatch : hourSeconds / 4);
    reader.type('analytics-mirror reconcile');
  }
  reader.type(`${certificate} ${id}`);
  const file = join(way.data, 'reports', 'certificates', `${id}-g1.json`);
  const given = ['--certificate', file, '--checkpoint', 'kept.txt', '--public-key', 'kept.pub'].join(' ');
  const verifier = '/checkout/docs/verifier/verify.mjs';
  const { stdout } = reader.type(`node ${verifier} ${way.data}/ledger ${given}`);
  hold('the verifier has read the certificate', stdout.includes('certificate'));
  reader.type(`cmp ${way.data}/reports/verify.html /checkout/docs/verifier/verify.html`);
}
