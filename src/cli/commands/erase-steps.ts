import type { Command } from 'commander';
import { AppError } from '../../core/errors.ts';
import type { ErasureParts } from '../../erasure/request/request-record.ts';
import { approveRequest, cancelRequest, readmit } from '../../erasure/receive.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { runEraseJob } from '../../worker/erase-job.ts';
import { runCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';

/** Adds what a person does to a request: `erase cancel`, `approve` and `readmit`. */
export function addEraseStepCommands(erase: Command, context: CommandContext): void {
  erase
    .command('cancel')
    .description('give requests up, as long as nothing was done for them')
    .argument('<ids...>', "the requests' ids, or the beginnings of them")
    .addHelpText('after', '\nExamples:\n  analytics-mirror erase cancel 3f2a')
    .action((ids: string[], _options: unknown, command: Command) =>
      forEach(
        context,
        command,
        () => ids,
        'cancelled',
        (parts, id) => cancelRequest(parts, id).id,
      ),
    );
  erase
    .command('approve')
    .description("let held requests go on; what is also a living person's stays with that person")
    .argument('[ids...]', "the requests' ids, or the beginnings of them")
    .option('--all', 'every held request')
    .addHelpText(
      'after',
      '\nExamples:\n  analytics-mirror erase approve 3f2a\n  analytics-mirror erase approve --all',
    )
    .action((ids: string[], _options: unknown, command: Command) => {
      const { all } = command.opts<{ all?: boolean }>();
      const held = ({ db }: ErasureParts): string[] =>
        listRequests(db, 'open')
          .filter(({ state }) => state === 'held')
          .map(({ id }) => id);
      if (ids.length === 0 && !all)
        throw new AppError('no request is named', { code: 'usage', hint: 'name requests, or give --all' });
      return forEach(
        context,
        command,
        (parts) => (all ? held(parts) : ids),
        'approved',
        (parts, id) => approveRequest(parts, id).id,
      );
    });
  erase
    .command('readmit')
    .description('let an erased person be mirrored again, if the service has it')
    .argument('<id>', "the request's id, or the beginning of it")
    .requiredOption('--reason <text>', 'why; the ledger keeps an HMAC of it')
    .addHelpText(
      'after',
      "\nExamples:\n  analytics-mirror erase readmit 3f2a --reason 'new contract, TICKET-901'",
    )
    .action((id: string, _options: unknown, command: Command) => {
      const { reason } = command.opts<{ reason: string }>();
      return forEach(
        context,
        command,
        () => [id],
        'readmitted',
        (parts, each) => readmit(parts, each, reason).request.id,
      );
    });
}

/** Does something to each request, as one run, and says to which. */
function forEach(
  context: CommandContext,
  command: Command,
  idsOf: (parts: ErasureParts) => readonly string[],
  done: string,
  act: (parts: ErasureParts, id: string) => string,
): Promise<void> {
  return runCommand(context, command, async (app) => {
    const { requests } = await runEraseJob(app.jobContext(context.signal), (parts) => {
      const acted = idsOf(parts).map((id) => act(parts, id));
      return Promise.resolve({ outcome: 'done', counts: { [done]: acted.length }, requests: acted } as const);
    });
    return {
      json: { [done]: requests },
      text: requests.length === 0 ? 'nothing to do\n' : requests.map((id) => `${done} ${id}\n`).join(''),
    };
  });
}
