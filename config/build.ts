import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { manPage } from './man-page.ts';
import { licencesText, shippedSbom } from './shipped.ts';
import { verifyPage, verifyPagePath } from './verify-page.ts';

// Makes dist/, which is what the package ships: the sources as JavaScript, since Node strips no types below node_modules.
// In the checkout Node runs the sources themselves.
const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

/** Runs the compiler. Its output is shown; a failure ends the build. */
function compile(project: string): void {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [compiler, '--project', project], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the sources cannot be compiled');
}

// The packed file is the same, whoever packs it.
process.umask(0o022);
rmSync(dist, { recursive: true, force: true });
compile('config/tsconfig.build.json');
// Only the types of the library are public. They name no other file.
compile('config/tsconfig.types.json');
copyFileSync(join(dist, 'types', 'library.d.ts'), join(dist, 'library.d.ts'));
rmSync(join(dist, 'types'), { recursive: true });

// What is no TypeScript is used as it is.
for (const path of globSync('**/*', { cwd: join(root, 'src'), withFileTypes: true })) {
  if (!path.isFile() || path.name.endsWith('.ts')) continue;
  const from = join(path.parentPath, path.name);
  const to = join(dist, from.slice(join(root, 'src').length));
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

// The compiler rewrites imports. The files that start as a process or thread are named by a URL.
for (const path of globSync('**/*.js', { cwd: dist })) {
  const text = readFileSync(join(dist, path), 'utf8');
  const rewritten = text.replaceAll(/(new URL\('\.[^']*)\.ts(', import\.meta\.url\))/g, '$1.js$2');
  if (rewritten !== text) writeFileSync(join(dist, path), rewritten);
}
const left = globSync('**/*.js', { cwd: dist }).filter((path) =>
  /(?:URL|import|from)\W+['`]\.[^'`]*\.ts['`]/.test(readFileSync(join(dist, path), 'utf8')),
);
if (left.length > 0) throw new Error(`a file that the package does not have is named in ${left.join(', ')}`);

// What an administrator asks of a package: its parts, their licences, a page of the manual.
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
writeFileSync(join(dist, 'sbom.cdx.json'), `${JSON.stringify(shippedSbom(), null, 2)}\n`);
writeFileSync(join(dist, 'THIRD-PARTY-LICENCES.txt'), licencesText());
const exitCodes = join(root, 'docs', 'operations', 'troubleshooting.md');
writeFileSync(join(dist, 'analytics-mirror.1'), manPage(join(dist, 'main.js'), version, exitCodes));

writeFileSync(verifyPagePath, verifyPage());

// The umask of the checkout says nothing of what is packed.
for (const path of globSync(['*.{md,json}', 'LICENSE', '{config,docs,dist}/**/*.*'], {
  cwd: root,
  withFileTypes: true,
}))
  if (path.isFile()) chmodSync(join(path.parentPath, path.name), 0o644);
for (const path of globSync('**/{LICENSE,NOTICE}', { cwd: dist })) chmodSync(join(dist, path), 0o644);
chmodSync(join(dist, 'main.js'), 0o755);
