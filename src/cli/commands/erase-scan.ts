import type { Command } from 'commander';
import { usageError } from '../../core/errors.ts';
import { bytesText, countText } from '../../core/words.ts';
import { scanRequests } from '../../erasure/scan/scan-requests.ts';
import type { ScanReport } from '../../erasure/scan/scan-task.ts';
import { eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { addGivenOptions, collect, readGiven, type GivenOptions } from '../given-identifiers.ts';
import { formatTable } from '../table.ts';

/** Defines `erase scan`: searches for data that is left of erased persons. */
export function define(command: Command, context: CommandContext): CommandAction {
  addGivenOptions(command)
    .argument('[source]', '- reads kind,value lines from standard input')
    .option('--also <path>', 'another file or folder to search, such as logs; may be repeated', collect);
  return {
    help: `
Reads the mirror, every published file and every other file of the data folder, decoded and byte by byte, in a process of
its own. It searches for the values of erased persons while their requests are open, for the HMACs of their identifiers
always, and for the persons that you name, in UTF-16 too. Values are never printed. An archive or a compressed file is not
opened, but listed as NOT READ: unpack it and scan again. So is whatever else cannot be read, with the reason.
Exit codes: 0 everything was read and nothing found, 4 something found (a finished request is opened again: run
\`reconcile\`) or not read.

Examples:
  analytics-mirror erase scan
  analytics-mirror erase scan --file people.csv --also /var/log/analytics-mirror`,
    run: async (app, source: string | undefined, options: GivenOptions & { also?: string[] }) => {
      const given = await readGiven(options, source);
      const { also = [] } = options;
      if (also.includes('')) throw usageError('--also names nothing', 'name a file or a folder');
      const { report, reopened } = await eraseJob(app, context, async (job) => {
        const scan = await scanRequests(job, given, also);
        return { counts: { reopened: scan.reopened.length }, ...scan };
      });
      const isClean =
        report.fenced.length + report.unreadable.length === 0 && report.subjects.every(({ hits }) => hits === 0);
      const ended = isClean ? 'done' : 'incomplete';
      return { ended, json: { ...report, reopened }, text: scanText(report, reopened) };
    },
  };
}

function scanText(report: ScanReport, reopened: readonly string[]): string {
  const { files, bytes, rows, encodings, subjects, fenced, unreadable } = report;
  const places = subjects.flatMap((subject) => subject.places.map((place) => ({ request: subject.request, ...place })));
  return [
    `scanned ${countText(files)} files (${bytesText(bytes)}) and ${countText(rows)} decoded rows for ${countText(subjects.length)} people, as ${encodings.join(', ')}\n`,
    places.length === 0
      ? 'nothing of them was found\n'
      : formatTable(
          ['of', 'found in', 'how', 'hits'],
          places.map(({ request, place, how, encoding, hits }) => [
            request,
            place,
            encoding === null ? how : `${how}, ${encoding}`,
            hits,
          ]),
        ),
    fenced.length === 0
      ? 'no identifier that is fenced was found in rows and JSON\n'
      : formatTable(
          ['fenced, and found in', 'kind', 'hits'],
          fenced.map(({ place, kind, hits }) => [place, kind, hits]),
        ),
    ...unreadable.map(({ place, reason }) => `NOT READ: ${place} (${reason})\n`),
    ...reopened.map((id) => `opened again: ${id}\n`),
  ].join('');
}
