import { mkdirSync, writeFileSync } from 'node:fs';
import { countText } from '../../src/core/words.ts';
import { missedTexts, type BenchReport, type Line } from './report.ts';

const docs = new URL('../../docs/', import.meta.url);

/** Writes the figures of a run between the marks of docs/benchmarks.md, as tables and pictures. */
export function writePages(report: BenchReport): void {
  const { at, node, machine, load, loadAfter, rounds, persons, exportRows } = report;
  mkdirSync(new URL('pictures/', docs), { recursive: true });
  const pictures: [name: string, title: string, lines: readonly Line[]][] = [
    ['benchmark-sync', `${countText(persons)} persons: processor time a row (µs)`, report.sync],
    ['benchmark-export', `Export of ${countText(exportRows)} persons: processor time a row (µs)`, report.export],
  ];
  for (const [name, title, lines] of pictures)
    writeFileSync(new URL(`pictures/${name}.svg`, docs), barsOf(title, lines));
  const grown = report.growth.flatMap(({ rows, lines }) =>
    lines.map((line) => ({ ...line, name: `${countText(rows)}: ${line.name}` })),
  );
  const shaped = report.shapes.map(({ shape, lines }) => `## Persons: ${shape}\n${tableOf(lines)}\n`).join('');
  writeFileSync(
    new URL('benchmarks-measured.md', docs),
    `# Benchmarks: the last run

\`npm run bench -- --write\` wrote this page on ${at}: Node ${node}, ${machine}, load ${load.toFixed(1)} at the beginning and
${loadAfter.toFixed(1)} at the end. Medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, with the least and the greatest. [Benchmarks](benchmarks.md) says what
each line means.

## Sync of ${countText(persons)} persons
${tableOf(report.sync)}
![Sync](pictures/benchmark-sync.svg)

${missedTexts(report).join('')}
${shaped}${grown.length === 0 ? '' : `\n## Growth\n${tableOf(grown)}`}
## Export of ${countText(exportRows)} persons
${tableOf(report.export)}
![Export](pictures/benchmark-export.svg)
`,
  );
}

function tableOf(lines: readonly Line[]): string {
  const baselines = [...new Set(lines.flatMap(({ ratios }) => Object.keys(ratios)))];
  const cells = (line: Line): string[] => [
    line.name,
    textOf(line.cpuMicros, 2),
    ...baselines.map((name) => textOf(line.ratios[name], 2)),
    line.seconds.median.toFixed(1),
    countText(Math.round(line.writtenBytes.median)),
    countText(Math.round(line.peakRssBytes / 1e6)),
  ];
  const heads = ['', 'CPU µs a row', ...baselines, 'seconds', 'bytes written a row', 'MB'];
  return `${[heads, heads.map(() => '---'), ...lines.map(cells)].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}

function textOf(spread: Line['seconds'] | undefined, digits: number): string {
  if (!spread || Number.isNaN(spread.median)) return '';
  const [median, least, most] = [spread.median, spread.least, spread.most].map((figure) => figure.toFixed(digits));
  return `${median} (${least}–${most})`;
}

/** A picture of bars: the median of each line, and a thin line from the least to the greatest. */
function barsOf(title: string, lines: readonly Line[]): string {
  const [left, width, height] = [300, 900, 26];
  const most = Math.max(...lines.map(({ cpuMicros }) => cpuMicros.most));
  const x = (figure: number): string => (left + (figure / most) * (width - left - 70)).toFixed(1);
  const bars = lines.map(({ name, cpuMicros: { median, least, most: greatest } }, index) => {
    const y = 44 + index * height;
    return `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${name.replaceAll('&', '&amp;')}</text>
<rect x="${left}" y="${y}" width="${(Number(x(median)) - left).toFixed(1)}" height="16" fill="#4c78a8"/>
<line x1="${x(least)}" x2="${x(greatest)}" y1="${y + 8}" y2="${y + 8}" stroke="#222"/>
<text x="${Number(x(greatest)) + 6}" y="${y + 12}">${median.toFixed(1)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${56 + lines.length * height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="10" y="22" font-size="15">${title}</text>
${bars.join('\n')}
</svg>
`;
}
