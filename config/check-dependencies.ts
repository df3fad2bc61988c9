import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, shippedPackages, shippedSbom } from './shipped.ts';

/** The part that is looked at of npm's audit. */
type Audit = { metadata?: { vulnerabilities?: Record<string, number> } };

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

/** Writes the bill of materials into a temporary file. Returns whether it names what is installed to be shipped, and no more. */
function writesWholeSbom(): boolean {
  const sbom = shippedSbom();
  const shipped = shippedPackages().map(({ name, version }) => `pkg:npm/${name}@${version}`);
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
