import { dirname, relative, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { certificatesFolder } from '../../core/folder.ts';
import { writeForOthers } from '../../audit/bundle.ts';
import { reportAnswer } from '../../audit/report-answer.ts';
import { reportCsv } from '../../audit/report-csv.ts';
import { gatherReport, reportJson, type AuditReport } from '../../audit/report-data.ts';
import { reportPage } from '../../audit/report-page.ts';
import { usageError } from '../../core/errors.ts';
import { isoToMicros } from '../../core/time.ts';
import { durationText } from '../../core/words.ts';
import type { CommandAction } from '../command.ts';
import type { GlobalOptions } from '../global-options.ts';
import { formatTable } from '../table.ts';

const formats = ['html', 'json', 'csv'] as const;
type ReportFlags = { from?: string; to?: string; format?: (typeof formats)[number]; out?: string };

/** Defines `audit report`: writes the auditor's report of a period. */
export function define(command: Command): CommandAction {
  command
    .option('--from <date>', 'the first day, in UTC; by default the day of the first request', readDay)
    .option('--to <date>', 'the last day, in UTC; by default today', readDay)
    .addOption(new Option('--format <format>', 'a page, data, or a table for spreadsheets').choices(formats))
    .option('--out <file>', 'the file to write; by default reports/audit-<from>-<to>.html');
  return {
    help: `
A request belongs to the day on which it was received. --json alone prints the report and writes no file. The CSV has a
row for each target. A cell that a spreadsheet would read as a formula begins with an apostrophe.

Examples:
  analytics-mirror audit report
  analytics-mirror audit report --from 2026-10-01 --to 2026-12-31 --format csv --out q4.csv`,
    run: (app, { from, to, format, out }: ReportFlags) => {
      const { json: asJson } = command.optsWithGlobals<GlobalOptions>();
      const { settings, clock } = app;
      const db = app.databaseReadOnly();
      // All requests are in memory at once, and gathered in one step: `start-up.ts` cannot look at the heap meanwhile.
      setFlagsFromString('--heap-growing-percent=20');
      const report = gatherReport({ db, settings, nowMs: clock.now() }, { from, to });
      if (report.from > report.to)
        throw usageError(
          `the period ends before it begins: ${report.from} to ${report.to}`,
          'give --from a day that is not after the day of --to',
        );
      if (asJson && format === undefined && out === undefined) return { json: report, text: '' };
      const name = `audit-${report.from}-${report.to}.${format ?? 'html'}`;
      const { dataDir } = settings;
      const certificatesFrom = (file: string): string =>
        `${relative(dirname(resolve(file)), certificatesFolder(dataDir)).replaceAll('\\', '/')}/`;
      const { file } = writeForOthers({ dataDir, out, name }, (file) =>
        render(report, format ?? 'html', certificatesFrom(file)),
      );
      return { json: report, text: `${summary(report)}written to ${file}\n` };
    },
  };
}

function render(
  report: AuditReport,
  format: (typeof formats)[number],
  certificates: string,
): string | Iterable<string> {
  if (format === 'json') return reportJson(report);
  return format === 'csv' ? reportCsv(report) : reportPage(report, certificates);
}

function readDay(text: string): string {
  if (text.length !== 10 || isoToMicros(`${text}T00:00Z`) === undefined)
    throw new InvalidArgumentError('It is not a day, such as 2026-11-20.');
  return text;
}

function summary(report: AuditReport): string {
  const { from, to, totals, access, times, earlierOpen, datedAheadOpen } = report;
  const table = formatTable(
    [`${from} to ${to}`, 'requests'],
    [
      ['received', totals.received],
      ['complete', totals.complete],
      ['open', totals.open],
      ['overdue', totals.overdue],
      ['ended late', totals.late],
      ['opened again', totals.reopened],
      ['held for approval', totals.held],
      ['in need of attention', totals.attention],
      ['refused', totals.refused],
      ['cancelled', totals.cancelled],
      ['ended by age and unproved', totals.unproved],
      ['open from before', earlierOpen],
      ['open, dated later than today', datedAheadOpen],
      ...(access.received === 0
        ? []
        : [
            ['for access: received', access.received],
            ['for access: answered', access.answered],
            ['for access: overdue', access.overdue],
          ]),
      ['median until erased here', durationText(times.here.medianMs)],
      ['worst until erased here', durationText(times.here.worstMs)],
      ['median until complete', durationText(times.complete.medianMs)],
      ['worst until complete', durationText(times.complete.worstMs)],
    ],
  );
  return `${reportAnswer(report).says}\n${table}`;
}
