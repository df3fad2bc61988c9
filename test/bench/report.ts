import { bytesText, countText } from '../../src/core/words.ts';
import { formatTable } from '../../src/cli/table.ts';
import type { Measurement } from './case.ts';

/** One measured case beside the others of its table. `ratios` are its rows per second over those of each baseline. */
export type Line = {
  name: string;
  rowsPerSecond: number;
  ratios: Readonly<Record<string, number>>;
  seconds: number;
  cpuSeconds: number;
  peakRssBytes: number;
  writtenBytes: number;
  /** Of the file that it made, where it made one. */
  fileBytes: number | null;
  limitedBy: string;
};

/** Where the time of one pass goes, in milliseconds. */
export type Stages = { name: string; stages: Readonly<Record<string, number>> };

/** Everything that one run of the bench found out. */
export type BenchReport = {
  node: string;
  processors: number;
  persons: number;
  exportRows: number;
  sync: Line[];
  stages: Stages[];
  export: Line[];
};

/** Puts a measurement of `rows` rows beside the baselines. */
export function lineOf(
  name: string,
  rows: number,
  measured: Measurement,
  baselines: Readonly<Record<string, Measurement>>,
  limitedBy: string,
): Line {
  const ratios = Object.entries(baselines).map(([baseline, { ms }]) => [baseline, ms / measured.ms]);
  return {
    name,
    rowsPerSecond: Math.round((rows / measured.ms) * 1000),
    ratios: Object.fromEntries(ratios) as Record<string, number>,
    seconds: measured.ms / 1000,
    cpuSeconds: measured.cpuMs / 1000,
    peakRssBytes: measured.peakRssBytes,
    writtenBytes: measured.writtenBytes,
    fileBytes: measured.bytes ?? null,
    limitedBy,
  };
}

/** The report for people. */
export function formatReport(report: BenchReport): string {
  const { node, processors, persons, exportRows } = report;
  return [
    `Node ${node}, ${processors} processors\n`,
    `Sync of ${countText(persons)} persons, pages of 1,000, from a server in another process\n${formatLines(report.sync)}`,
    `Where the time of a pass goes\n${formatStages(report.stages)}`,
    `Export of ${countText(exportRows)} persons\n${formatLines(report.export)}`,
  ].join('\n');
}

function formatLines(lines: readonly Line[]): string {
  const baselines = [...new Set(lines.flatMap(({ ratios }) => Object.keys(ratios)))];
  const right = (heading: string) => ({ right: heading });
  const headings = ['rows/s', ...baselines, 'seconds', 'CPU s', 'peak RSS', 'written', 'file'];
  return formatTable(
    ['', ...headings.map(right), 'limited by'],
    lines.map((line) => [
      line.name,
      countText(line.rowsPerSecond),
      ...baselines.map((baseline) => formatRatio(line.ratios[baseline])),
      line.seconds.toFixed(1),
      line.cpuSeconds.toFixed(1),
      bytesText(line.peakRssBytes),
      bytesText(line.writtenBytes),
      line.fileBytes === null ? '' : bytesText(line.fileBytes),
      line.limitedBy,
    ]),
  );
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '' : `${ratio.toFixed(2)} ×`;
}

function formatStages(passes: readonly Stages[]): string {
  const rows = passes.flatMap(({ name, stages }) => {
    const totalMs = Object.values(stages).reduce((sum, ms) => sum + ms, 0);
    return Object.entries(stages).map(([stage, ms]) => [
      name,
      stage,
      `${countText(Math.round(ms))} ms`,
      `${Math.round((100 * ms) / totalMs)} %`,
    ]);
  });
  return formatTable(['pass', 'stage', { right: 'time' }, { right: 'share' }], rows);
}
