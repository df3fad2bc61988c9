import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts that are looked at of package-lock.json, of npm's audit, and of a bill of materials in CycloneDX. */
type Lock = { packages: Record<string, { version: string; dev?: boolean }> };
type Audit = { metadata?: { vulnerabilities?: Record<string, number> } };
type Component = { purl: string; 'bom-ref': string; properties: { name: string; value: string }[] };
type Sbom = {
  bomFormat: string;
  metadata: { component: { 'bom-ref': string } };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

const root = fileURLToPath(new URL('..', import.meta.url));

/** What npm prints on standard output, whatever it exits with. */
function npm(...args: readonly string[]): string {
  return spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).stdout;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Whether nothing is known against what is shipped. A registry that does not tell is no fault of the dependencies. */
function passesAudit(): boolean {
  const { metadata } = JSON.parse(npm('audit', '--omit=dev', '--json') || '{}') as Audit;
  if (metadata?.vulnerabilities === undefined) {
    say('audit: the registry does not answer, so nothing is known');
    return true;
  }
  const found = Object.entries(metadata.vulnerabilities).filter(
    ([severity, count]) => severity !== 'total' && count > 0,
  );
  const counts = found.map(([severity, count]) => `${count} ${severity}`).join(', ');
  say(`audit: ${counts || 'nothing is known against any dependency'}`);
  return found.length === 0;
}

/**
 * The bill of materials of what is shipped. `npm sbom --omit dev` leaves out what is both shipped and needed by a tool
 * (npm/cli#7909), so it is asked for everything, and what is for development alone is taken out here.
 */
function shippedSbom(): Sbom {
  const whole = JSON.parse(npm('sbom', '--workspaces=false', '--sbom-format', 'cyclonedx')) as Sbom;
  const components = whole.components.filter(
    ({ purl, properties }) =>
      !decodeURIComponent(purl).startsWith('pkg:npm/@scarf/scarf@') &&
      !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const refs = new Set([whole.metadata.component, ...components].map((component) => component['bom-ref']));
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  return { ...whole, components, dependencies };
}

/** Whether a path of the lockfile is the workspace that brings Node to a checkout, or what it brings. */
function isOfCheckout(path: string): boolean {
  return /^(?:config\/(?:node|no-scarf)|node_modules\/@scarf\/scarf|node_modules\/node-(?:of-the-checkout|linux-x64|linux-arm64|win-x64))$/.test(
    path,
  );
}

/** Writes the bill of materials into a temporary file. Returns whether it names what is installed to be shipped, and no more. */
function writesWholeSbom(): boolean {
  const sbom = shippedSbom();
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const shipped = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && !isOfCheckout(path) && existsSync(join(root, path)))
    .map(([path, { version }]) => `pkg:npm/${path.replace(/^.*node_modules\//, '')}@${version}`);
  const named = sbom.components.map(({ purl }) => decodeURIComponent(purl));
  const wrong = [
    ...shipped.filter((name) => !named.includes(name)),
    ...named.filter((name) => !shipped.includes(name)),
  ];
  const file = join(mkdtempSync(join(tmpdir(), 'analytics-mirror-sbom-')), 'sbom.cdx.json');
  writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
  const isWhole = sbom.bomFormat === 'CycloneDX' && named.length > 0 && wrong.length === 0;
  say(
    isWhole
      ? `sbom: ${named.length} dependencies, in ${file}`
      : `sbom: differs from what is installed in ${wrong.join(', ')}`,
  );
  return isWhole;
}

const results = [passesAudit(), writesWholeSbom()];
process.exitCode = results.every(Boolean) ? 0 : 1;
