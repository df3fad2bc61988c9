import process from 'node:process';
import { openMachine } from './tutorial/machine.ts';
import { headingsWithLines, readPage } from './tutorial/page.ts';
import { openReader, type Replacements } from './tutorial/reader.ts';
import { openStory } from './tutorial/story.ts';
import { imageWay, plainWay, systemdWay } from './tutorial/ways.ts';
import { openWorld } from './tutorial/world.ts';

// Types docs/start.md from an empty folder and a key, in one of three ways: `tutorial.ts WAY FOLDER`. It needs mount and process
// namespaces of its own, as .ci/tutorial gives them.

const ways = { plain: plainWay, systemd: systemdWay, image: imageWay };
/** The headings of the page under which lines for a shell stand. Those of Kubernetes are typed by nobody. */
const headings = [
  '1. Install',
  '2. Make a key',
  '3. Write the configuration',
  '4. The first pass',
  '5. The first snapshot',
  'systemd',
  'Docker',
  'Kubernetes',
  '10. The first erasure',
];

const [name = '', folder = ''] = process.argv.slice(2);
if (!Object.hasOwn(ways, name)) throw new Error(`There is no way ${name}: ${Object.keys(ways).join(', ')}`);
const found = headingsWithLines(readPage('docs/start.md'));
if (found.join() !== headings.join()) throw new Error(`docs/start.md has lines under other headings: ${found.join()}`);

// As the first of its processes it would not end.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
const began = performance.now();
const machine = await openMachine(folder);
const world = await openWorld(machine);
const story = openStory(machine, world);
/** What is replaced on the page: the service, the project, the repository, the person. */
const replacements: Replacements = [
  [
    /--preset posthog-eu --project-id 12345/,
    () => `--preset posthog-eu --base-url ${world.url} --project-id ${world.projectId}`,
  ],
  [/<this repository>/, () => '/checkout'],
  [/\bann@example\.com\b/, () => story.address()],
];
const reader = openReader(machine, replacements, story.expected);
const way = ways[name as keyof typeof ways](machine, reader);
for (const [what, tell] of story.chapters(reader, way)) {
  process.stdout.write(`\n== ${name}: ${what}\n`);
  await tell();
}
if (reader.untyped().length > 0) throw new Error(`docs/start.md has no line of ${reader.untyped().join()}`);
const untried = machine.read('/run/tutorial/untried').replaceAll('\n', ', ');
if (untried !== '') process.stdout.write(`\n${name}: not tried: ${untried}\n`);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
process.stdout.write(`${name}: ${reader.typed()} commands in ${seconds} seconds; everything did what the page says\n`);
process.exit(0);
