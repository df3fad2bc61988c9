import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { countText } from '../../src/core/words.ts';
import { missedTexts, type BenchReport, type Line } from './report.ts';

const docs = new URL('../../docs/', import.meta.url);

/** The part of the page that a run writes. */
const measured = /(?<=<!-- measured -->\n).*(?=<!-- \/measured -->)/s;

/** Writes the figures of a run between the marks of docs/contributing/benchmarks.md, as tables and pictures. */
export function writePages(report: BenchReport): void {
  const { at, node, machine, load, loadAfter, rounds, persons, exportRows } = report;
  mkdirSync(new URL('pictures/', docs), { recursive: true });
  const pictures: [name: string, title: string, lines: readonly Line[]][] = [
    ['benchmark-sync', `${countText(persons)} persons: processor time a row (µs)`, report.sync],
    ['benchmark-export', `Export of ${countText(exportRows)} persons: processor time a row (µs)`, report.export],
  ];
  for (const [name, title, lines] of pictures)
    writeFileSync(new URL(`pictures/${name}.svg`, docs), barsOf(title, lines));
  const page = new URL('contributing/benchmarks.md', docs);
  const text = `Written by \`npm run bench -- --write\` on ${at}: Node ${node}, ${machine}, load ${load.toFixed(1)} at the beginning and
${loadAfter.toFixed(1)} at the end. Medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, with the least and the greatest.

${tableOf(`${countText(persons)} persons`, report.sync)}
![Sync](../pictures/benchmark-sync.svg)

${missedTexts(report).join('')}
${report.shapes.map(({ shape, lines }) => `${tableOf(`persons: ${shape}`, lines)}\n`).join('')}${report.growth.map(({ rows, lines }) => `${tableOf(`${countText(rows)} persons`, lines)}\n`).join('')}${tableOf(`export of ${countText(exportRows)} persons`, report.export)}
![Export](../pictures/benchmark-export.svg)
`;
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(measured, () => text),
  );
}

/** A table of lines. Of the ratios it has the first; the report for people has all of them. */
function tableOf(title: string, lines: readonly Line[]): string {
  const [baseline = ''] = lines.flatMap(({ ratios }) => Object.keys(ratios));
  const cells = (line: Line): string[] => [
    line.name,
    textOf(line.cpuMicros),
    ratioText(line.ratios[baseline]?.median),
    line.seconds.median.toFixed(1),
    countText(Math.round(line.writtenBytes.median)),
    countText(Math.round(line.peakRssBytes / 1e6)),
  ];
  const heads = [title, 'CPU µs a row', baseline, 'seconds', 'bytes written a row', 'MB'];
  return `${[heads, heads.map(() => '---'), ...lines.map(cells)].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}

function ratioText(ratio = Number.NaN): string {
  return Number.isNaN(ratio) ? '' : ratio.toFixed(2);
}

function textOf({ median, least, most }: Line['cpuMicros']): string {
  const [middle, ...ends] = [median, least, most].map((figure) => figure.toFixed(2));
  return `${middle} (${ends.join('–')})`;
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
