import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// What is shipped with the program: the dependencies that are not for development alone, as the lockfile has them.

const root = fileURLToPath(new URL('..', import.meta.url));

/** The parts that are looked at of a bill of materials in CycloneDX. */
export type Sbom = {
  bomFormat: string;
  metadata: { component: { 'bom-ref': string; name: string } };
  components: {
    purl: string;
    'bom-ref': string;
    properties: { name: string; value: string }[];
    externalReferences: { type: string; url: string }[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/** What npm prints on standard output, whatever it exits with. */
export function npm(...args: readonly string[]): string {
  return spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).stdout;
}

/**
 * The bill of materials of what is shipped, without a time or a number of its own, so that the same sources have the same. `npm sbom
 * --omit dev` leaves out what is both shipped and needed by a tool (npm/cli#7909), so it is asked for everything, and what is for
 * development alone is taken out here.
 */
export function shippedSbom(): Sbom {
  const listed = JSON.parse(npm('sbom', '--workspaces=false', '--sbom-format', 'cyclonedx')) as Sbom;
  const { serialNumber: _number, ...whole } = listed as Sbom & { serialNumber?: string };
  const { timestamp: _time, ...metadata } = whole.metadata as Sbom['metadata'] & { timestamp?: string };
  // npm names the program after its folder.
  metadata.component.name = metadata.component['bom-ref'].replace(/@[^@]*$/u, '');
  const components = whole.components.filter(
    ({ properties }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  // npm copies addresses as packages write them. This form of git's is no URL, which a validator refuses.
  for (const { externalReferences } of components)
    for (const reference of externalReferences)
      reference.url = reference.url.replace(/^git@([^:]+):/u, 'ssh://git@$1/');
  const refs = new Set([metadata.component, ...components].map((component) => component['bom-ref']));
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  return { ...whole, metadata, components, dependencies };
}

/** A dependency that is shipped: its folder, name and version. */
type Shipped = { path: string; name: string; version: string };

/** The dependencies that are shipped and installed here, by their path. */
export function shippedPackages(): Shipped[] {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version: string; dev?: boolean }> };
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true && !isOfCheckout(path) && existsSync(join(root, path)))
    .map(([path, { version }]) => ({ path, name: path.replace(/^.*node_modules\//, ''), version }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether a path of the lockfile is the workspace that brings Node to a checkout, or what it brings. */
function isOfCheckout(path: string): boolean {
  return /^(?:config\/(?:node|no-scarf)|node_modules\/@scarf\/scarf|node_modules\/node-(?:of-the-checkout|linux-x64|linux-arm64|win-x64))$/.test(
    path,
  );
}

/** The licences of all that is shipped, as their files say; each text once. Throws where one has no licence at all. */
export function licencesText(): string {
  const found = shippedPackages().map(({ path, name, version }) => {
    const folder = join(root, path);
    const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license?: string };
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/iu.test(file));
    if (files.length === 0 && license === undefined) throw new Error(`${name} has no licence`);
    const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    const text = texts.length > 0 ? texts.join('\n\n') : `Licence: ${license}`;
    return { text, user: `${name} ${version} (${license ?? 'see below'})` };
  });
  const parts = [...Map.groupBy(found, ({ text }) => text)].map(
    ([text, users]) => `${users.map(({ user }) => user).join('\n')}\n\n${text}\n`,
  );
  return `analytics-mirror is used with these packages, which are their authors'.\n\n${parts.join(`\n${'-'.repeat(78)}\n\n`)}`;
}
