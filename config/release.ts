import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// `npm run release`: makes a release of the version in package.json, on this machine. A release is an entry in CHANGELOG.md, a
// packed file and a tag. Pushing and publishing are left to a person.

function run(command: string, ...args: readonly string[]): string {
  // On Windows npm is a script, which only a shell can start.
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: command === 'npm',
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What keeps a version from being released, in words. */
function obstacles(version: string): string[] {
  const section = readFileSync('CHANGELOG.md', 'utf8')
    .split(/^## /m)
    .find((part) => part.startsWith(`${version} - `) || part.startsWith(`[${version}] - `));
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { version: string };
  return [
    ...(run('git', 'status', '--porcelain') === '' ? [] : ['there are changes that are not committed']),
    ...(section === undefined ? [`CHANGELOG.md has no heading "## ${version} - <date>"`] : []),
    ...(section !== undefined && !section.includes('\n- ') ? [`CHANGELOG.md says nothing about ${version}`] : []),
    ...(lock.version === version ? [] : [`package-lock.json has the version ${lock.version}; run \`npm install\``]),
    ...(run('git', 'tag', '--list', `v${version}`) === '' ? [] : [`there is a tag v${version}; raise the version`]),
  ];
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const found = obstacles(version);
if (found.length > 0) {
  for (const line of found) say(`error: ${line}`);
  process.exitCode = 1;
} else {
  const file = run('npm', 'pack', '--silent').trim().split('\n').at(-1);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`);
  say(`packed ${file} and tagged v${version}. Next: run .ci/run, then push the tag.`);
}
