import type { Command } from 'commander';
import { accessPage } from '../../audit/access-page.ts';
import { writeRequestedFile } from '../../core/atomic-file.ts';
import { isoTime } from '../../core/clock.ts';
import { stringifyExactJson } from '../../core/exact-json.ts';
import { usageError } from '../../core/errors.ts';
import { countText, secondText } from '../../core/words.ts';
import { namedForAccess } from '../../erasure/access.ts';
import { whereIs, type Whereabouts } from '../../erasure/find/where.ts';
import type { GivenIdentifier } from '../../erasure/request/box.ts';
import { publishedFilesIn } from '../../snapshot/published-files.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { addGivenOptions, requireGiven, type GivenOptions } from '../given-identifiers.ts';
import type { Database } from '../../mirror/database.ts';
import { heldText } from '../held-text.ts';
import { requestStateText } from '../request-state-text.ts';
import { formatTable } from '../table.ts';
import { refuseUnfitFolder } from '../unfit-folder.ts';

/** Defines `where`: shows every place that holds data of a person. */
export function define(command: Command, context: CommandContext): CommandAction {
  addGivenOptions(command)
    .argument('[source]', '- reads kind,value lines from standard input: identifiers of one person')
    .option('--request <id>', 'the person of a request for access, as `access list` shows its id')
    .option('--export <file>', 'write all data of the person to this JSON file (mode 0600)')
    .option(
      '--page <file>',
      'write the data to this HTML file, a page for the person to read (mode 0600; - is standard output)',
    );
  return {
    help: `
Searches the mirror, the quarantine, every published file of every generation, and the erasure requests.

Examples:
  analytics-mirror where --email ann@example.com
  analytics-mirror where --file ann.csv --export ann.json --page ann.html
  analytics-mirror where --request 3f2a --page answer.html`,
    run: async (app, source: string | undefined, options: WhereOptions) => {
      const { export: file, page, request } = options;
      const { settings } = app;
      const db = app.databaseReadOnly();
      refuseUnfitFolder(db, settings);
      const given =
        request === undefined ? await requireGiven(options, source) : namedForAccess({ db, settings }, request);
      const { whereabouts, access } = await whereIs(
        {
          db,
          published: publishedFilesIn(settings.dataDir),
          settings,
          service: app.hasService ? app.service() : null,
          signal: context.signal,
        },
        given,
      );
      const written = [file, page].filter((one) => one !== undefined);
      if (written.length > 0) requireOnePerson(given, whereabouts);
      if (file !== undefined) writeRequestedFile(file, `${stringifyExactJson(access, 2)}\n`);
      const { controller } = settings.audit;
      const { baseUrl, projectId } = settings.service;
      const service = baseUrl === null ? null : `project ${projectId ?? ''} of ${new URL(baseUrl).host}`;
      const answer = (): string =>
        accessPage({ access, whereabouts, service, controller, at: isoTime(app.clock.now()) });
      const json = { ...whereabouts, exported: file ?? null, page: page ?? null };
      if (page === '-') {
        context.stderr.write(heldText('what was given', whereabouts, db));
        return { json, text: answer() };
      }
      if (page !== undefined) writeRequestedFile(page, answer());
      return { json, text: whereText(whereabouts, written, db) };
    },
  };
}

type WhereOptions = GivenOptions & { request?: string; export?: string; page?: string };

/** Refuses an answer that would hold several persons, unless each was named by its uuid: it goes to one of them. */
function requireOnePerson(given: readonly GivenIdentifier[], { personsNamed }: Whereabouts): void {
  const uuids = new Set(given.map(({ kind, value }) => (kind === 'uuid' ? value.toLowerCase() : '')));
  if (personsNamed.every((uuid) => uuids.has(uuid))) return;
  throw usageError(
    `what was given names ${countText(personsNamed.length)} persons, and the answer goes to one`,
    '`where` without --export and --page shows who they are; name the person by --uuid. Nothing was written',
  );
}

function whereText(whereabouts: Whereabouts, written: readonly string[], db: Database): string {
  const { places, requests, erasedBy, isShared, searched } = whereabouts;
  return [
    places.length === 0
      ? 'nothing is held about this person\n'
      : formatTable(
          ['place', 'rows', { right: 'of' }],
          places.map(({ place, rows, rowsInAll }) => [place, rows, rowsInAll]),
        ),
    ...(requests.length === 0
      ? []
      : [
          '\n',
          formatTable(
            ['request', 'state', 'received'],
            requests.map(({ id, state, receivedAt }) => [id, requestStateText({ state }), secondText(receivedAt)]),
          ),
        ]),
    ...(erasedBy === null ? [] : [`\nthe person was erased before, by request ${erasedBy}\n`]),
    ...(isShared ? ['\nan identifier of this person also belongs to a living person\n'] : []),
    heldText('what was given', whereabouts, db),
    `\nsearched the mirror and ${countText(searched.files)} published files\n`,
    ...written.map((file) => `all of it is written to ${file}\n`),
  ].join('');
}
