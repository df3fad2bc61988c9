import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

// `npm run release`: makes a release of the version in package.json, on this machine: its section of CHANGELOG.md gets the date, and
// is committed, tagged and packed. The first release needs `-- --repository https://…`: package.json and the tutorial name the
// place from then on. Pushing and publishing are left to a person.

type Manifest = { version: string; repository?: { type: string; url: string } };

function run(command: string, ...args: readonly string[]): string {
  // On Windows npm is a script, which only a shell can start.
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: command === 'npm' && process.platform === 'win32',
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What stands under a heading of the changelog; undefined without the heading. */
function sectionOf(changelog: string, heading: string): string | undefined {
  return changelog.split(/^## /m).find((part) => part === heading || part.startsWith(`${heading}\n`));
}

/** What keeps a version from being released, in words. */
function obstacles({ version, repository }: Manifest, address: string | undefined): string[] {
  const changes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), 'Unreleased');
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { version: string };
  const isUnknown = repository === undefined && address === undefined;
  return [
    ...(run('git', 'status', '--porcelain') === '' ? [] : ['there are changes that are not committed']),
    ...(isUnknown ? ['package.json names no repository; add `-- --repository https://…`'] : []),
    ...(address === undefined || isAddress(address) ? [] : ['--repository takes an address that begins with https://']),
    ...(changes?.includes('\n- ') === true ? [] : ['CHANGELOG.md says nothing under "## Unreleased"']),
    ...(lock.version === version ? [] : [`package-lock.json has the version ${lock.version}; run \`npm install\``]),
    ...(run('git', 'tag', '--list', `v${version}`) === '' ? [] : [`there is a tag v${version}; raise the version`]),
  ];
}

function isAddress(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}

function rewrite(file: string, change: (text: string) => string): void {
  if (existsSync(file)) writeFileSync(file, change(readFileSync(file, 'utf8')));
}

/** Names the repository in the package and in the tutorial. */
function nameRepository(address: string): void {
  const url = address.replace(/(\.git)?\/*$/, '');
  rewrite('package.json', (text) => {
    const manifest = JSON.parse(text) as Manifest;
    const places = {
      repository: { type: 'git', url: `git+${url}.git` },
      homepage: `${url}#readme`,
      bugs: `${url}/issues`,
    };
    return `${JSON.stringify({ ...manifest, ...places }, null, 2)}\n`;
  });
  rewrite('docs/start.md', (text) => text.replaceAll('<this repository>', url));
}

const { values } = parseArgs({ options: { repository: { type: 'string' } } });
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const found = obstacles(manifest, values.repository);
if (found.length > 0) {
  for (const line of found) say(`error: ${line}`);
  process.exitCode = 1;
} else {
  const { version } = manifest;
  const heading = `## ${version} - ${new Date().toISOString().slice(0, 10)}`;
  if (values.repository !== undefined) nameRepository(values.repository);
  rewrite('CHANGELOG.md', (text) =>
    text.replace(' No version has been released yet.', '').replace('## Unreleased\n', `## Unreleased\n\n${heading}\n`),
  );
  run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`);
  const file = run('npm', 'pack', '--silent').trim().split('\n').at(-1);
  say(`committed, tagged v${version}, packed ${file}. Next: run .ci/run, then push the commit and the tag.`);
}
