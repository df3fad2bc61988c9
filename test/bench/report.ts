import { bytesText, countText } from '../../src/core/words.ts';
import { formatTable } from '../../src/cli/table.ts';
import type { Measurement } from './case.ts';
import type { Shape } from './persons.ts';

/** The middle of some measured figures, and their least and greatest. */
type Spread = { median: number; least: number; most: number };

/** One case that was measured several times, beside the baselines that were measured in the same rounds. */
export type Line = {
  name: string;
  /** Processor time for a row, in microseconds, the start of the process included. */
  cpuMicros: Spread;
  /** Rows for a second of processor time, over those of the baseline in the same round. */
  ratios: Readonly<Record<string, Spread>>;
  seconds: Spread;
  /** Bytes for a row that were given to the disk. */
  writtenBytes: Spread;
  /** The greatest of all rounds. */
  peakRssBytes: number;
  /** Of the file that it made, where it made one. */
  fileBytes: number | null;
};

/** Everything that one run of the bench found out. */
export type BenchReport = {
  /** The day. */
  at: string;
  node: string;
  machine: string;
  /** The load of the machine over a minute, before and after: ratios bear it, seconds do not. */
  load: number;
  loadAfter: number;
  rounds: number;
  persons: number;
  exportRows: number;
  sync: Line[];
  /** Who has missed how many of the persons that are still there, while the first of them were deleted after each page. */
  missed: { name: string; missed: number; left: number }[];
  /** The command over persons of other shapes. */
  shapes: { shape: Shape; lines: Line[] }[];
  /** The command at other sizes. */
  growth: { rows: number; lines: Line[] }[];
  export: Line[];
};

function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (place: number): number => sorted.at(place) ?? Number.NaN;
  return { median: at(Math.floor(sorted.length / 2)), least: at(0), most: at(-1) };
}

/** Puts the measurements of a case, one a round, beside those of the baselines in the same rounds. */
export function lineOf(
  name: string,
  rows: number,
  measured: readonly Measurement[],
  baselines: Readonly<Record<string, readonly Measurement[]>>,
): Line {
  const ratios = Object.entries(baselines).map(([baseline, others]) => [
    baseline,
    spreadOf(measured.map(({ cpuMs }, round) => (others[round]?.cpuMs ?? Number.NaN) / cpuMs)),
  ]);
  return {
    name,
    cpuMicros: spreadOf(measured.map(({ cpuMs }) => (cpuMs * 1000) / rows)),
    ratios: Object.fromEntries(ratios) as Record<string, Spread>,
    seconds: spreadOf(measured.map(({ ms }) => ms / 1000)),
    writtenBytes: spreadOf(measured.map(({ writtenBytes }) => writtenBytes / rows)),
    peakRssBytes: Math.max(...measured.map(({ peakRssBytes }) => peakRssBytes)),
    fileBytes: measured[0]?.bytes ?? null,
  };
}

/** The report for people. */
export function formatReport(report: BenchReport): string {
  const { node, machine, load, loadAfter, rounds, persons, exportRows } = report;
  return [
    `Node ${node}, ${machine}, load ${load.toFixed(1)} to ${loadAfter.toFixed(1)}. Medians of ${rounds} rounds with the least and the greatest; ratios are of`,
    `processor time within a round. Every case is a process of its own, and its start is counted.\n`,
    `Sync of ${countText(persons)} persons, pages of 1,000, from a server in another process\n${formatLines(report.sync)}`,
    ...missedTexts(report),
    ...report.shapes.map(
      ({ shape, lines }) => `Sync of ${countText(persons)} persons, ${shape}\n${formatLines(lines)}`,
    ),
    ...report.growth.map(({ rows, lines }) => `Sync of ${countText(rows)} persons\n${formatLines(lines)}`),
    `Export of ${countText(exportRows)} persons\n${formatLines(report.export)}`,
  ].join('\n');
}

/** What each program has missed, a sentence each. */
export function missedTexts({ missed }: BenchReport): string[] {
  return missed.map(
    (each) =>
      `While the first persons of the list were deleted, ${each.name} missed ${countText(each.missed)} of the ${countText(each.left)} that were left.\n`,
  );
}

function formatLines(lines: readonly Line[]): string {
  const baselines = [...new Set(lines.flatMap(({ ratios }) => Object.keys(ratios)))];
  const headings = ['CPU µs a row', ...baselines, 'seconds', 'written a row', 'peak RSS', 'file'];
  return formatTable(
    ['', ...headings.map((right) => ({ right }))],
    lines.map((line) => [
      line.name,
      formatSpread(line.cpuMicros, 1),
      ...baselines.map((baseline) => formatSpread(line.ratios[baseline], 2)),
      formatSpread(line.seconds, 1),
      bytesText(Math.round(line.writtenBytes.median)),
      bytesText(line.peakRssBytes),
      line.fileBytes === null ? '' : bytesText(line.fileBytes),
    ]),
  );
}

function formatSpread(spread: Spread | undefined, digits: number): string {
  if (!spread) return '';
  const [median, least, most] = [spread.median, spread.least, spread.most].map((figure) => figure.toFixed(digits));
  return `${median} (${least}–${most})`;
}
