import type { Command } from 'commander';
import { AppError } from '../../core/errors.ts';
import { approveRequest, cancelRequest, readmit } from '../../erasure/receive.ts';
import type { JobContext } from '../../job/job-context.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { runEraseJob } from '../../erasure/fence/restore-guard.ts';
import { runCommand, type CommandContext } from '../command.ts';

/** Defines `erase cancel`, `erase approve` or `erase readmit`: what a person decides about requests. */
export function define(command: Command, context: CommandContext): void {
  if (command.name() === 'cancel') defineCancel(command, context);
  else if (command.name() === 'approve') defineApprove(command, context);
  else defineReadmit(command, context);
}

function defineCancel(command: Command, context: CommandContext): void {
  command
    .argument('<ids...>', "the requests' ids, or their first characters")
    .addHelpText('after', '\nExamples:\n  analytics-mirror erase cancel 3f2a')
    .action((ids: string[]) =>
      forEach(
        context,
        command,
        () => ids,
        'cancelled',
        (job, id) => cancelRequest(job, id).id,
      ),
    );
}

function defineApprove(command: Command, context: CommandContext): void {
  command
    .argument('[ids...]', "the requests' ids, or their first characters")
    .option('--all', 'approve every held request')
    .addHelpText('after', '\nExamples:\n  analytics-mirror erase approve 3f2a\n  analytics-mirror erase approve --all')
    .action((ids: string[]) => {
      const { all } = command.opts<{ all?: boolean }>();
      const held = ({ db }: JobContext): string[] =>
        listRequests(db, 'open')
          .filter(({ state }) => state === 'held')
          .map(({ id }) => id);
      if (ids.length === 0 && !all)
        throw new AppError('no request is named', { code: 'usage', hint: 'name requests, or give --all' });
      return forEach(
        context,
        command,
        (job) => (all ? held(job) : ids),
        'approved',
        (job, id) => approveRequest(job, id).id,
      );
    });
}

function defineReadmit(command: Command, context: CommandContext): void {
  command
    .argument('<id>', "the request's id, or its first characters")
    .requiredOption('--reason <text>', 'the reason; the ledger keeps an HMAC of it')
    .addHelpText('after', "\nExamples:\n  analytics-mirror erase readmit 3f2a --reason 'new contract, TICKET-901'")
    .action((id: string) => {
      const { reason } = command.opts<{ reason: string }>();
      return forEach(
        context,
        command,
        () => [id],
        'readmitted',
        (job, each) => readmit(job, each, reason).request.id,
      );
    });
}

/** Applies one step to each request, as one run, and prints the ids. */
function forEach(
  context: CommandContext,
  command: Command,
  idsOf: (job: JobContext) => readonly string[],
  done: string,
  act: (job: JobContext, id: string) => string,
): Promise<void> {
  return runCommand(context, command, async (app) => {
    const { requests } = await runEraseJob(app.jobContext(context.signal), (job) => {
      const acted = idsOf(job).map((id) => act(job, id));
      return Promise.resolve({ outcome: 'done', counts: { [done]: acted.length }, requests: acted } as const);
    });
    return {
      json: { [done]: requests },
      text: requests.length === 0 ? 'nothing to do\n' : requests.map((id) => `${done} ${id}\n`).join(''),
    };
  });
}
