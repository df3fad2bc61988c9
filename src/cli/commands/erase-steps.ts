import type { Command } from 'commander';
import { AppError } from '../../core/errors.ts';
import { approveRequest, cancelRequest, readmit } from '../../erasure/receive.ts';
import { together } from '../../erasure/request/together.ts';
import type { JobContext } from '../../job/job-context.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { runEraseJob } from '../../erasure/fence/restore-guard.ts';
import { runCommand, type CommandContext } from '../command.ts';

const severalIds = "the requests' ids, or their first characters";

/** Defines `erase cancel`, `erase approve` or `erase readmit`: what a person decides about requests. */
export function define(command: Command, context: CommandContext): void {
  if (command.name() === 'cancel')
    command
      .argument('<ids...>', severalIds)
      .addHelpText('after', '\nExamples:\n  analytics-mirror erase cancel 3f2a')
      .action((ids: string[]) => decide(context, command, 'cancelled', () => ids, cancelRequest));
  else if (command.name() === 'approve')
    command
      .argument('[ids...]', severalIds)
      .option('--all', 'approve every held request')
      .addHelpText(
        'after',
        '\nExamples:\n  analytics-mirror erase approve 3f2a\n  analytics-mirror erase approve --all',
      )
      .action((ids: string[], { all }: { all?: boolean }) => {
        if (ids.length === 0 && !all)
          throw new AppError('no request is named', { code: 'usage', hint: 'name requests, or give --all' });
        return decide(context, command, 'approved', (job) => (all ? heldIds(job) : ids), approveRequest);
      });
  else
    command
      .argument('<id>', "the request's id, or its first characters")
      .requiredOption('--reason <text>', 'the reason; the ledger keeps an HMAC of it')
      .addHelpText('after', "\nExamples:\n  analytics-mirror erase readmit 3f2a --reason 'new contract, TICKET-901'")
      .action((id: string, { reason }: { reason: string }) => {
        const act: Act = (job, each) => readmit(job, each, reason).request;
        return decide(context, command, 'readmitted', () => [id], act);
      });
}

function heldIds({ db }: JobContext): string[] {
  const held = listRequests(db, 'open').filter(({ state }) => state === 'held');
  return held.map(({ id }) => id);
}

type Act = (job: JobContext, id: string) => { id: string };

/** Applies one step to each request, as one run, and prints the ids. */
function decide(
  context: CommandContext,
  command: Command,
  done: string,
  idsOf: (job: JobContext) => readonly string[],
  act: Act,
): Promise<void> {
  return runCommand(context, command, async (app) => {
    const { requests } = await runEraseJob(app.jobContext(context.signal), (job) => {
      const acted = together(job, (own) => idsOf(own).map((id) => act(own, id).id));
      return Promise.resolve({ outcome: 'done', counts: { [done]: acted.length }, requests: acted } as const);
    });
    return {
      json: { [done]: requests },
      text: requests.length === 0 ? 'nothing to do\n' : requests.map((id) => `${done} ${id}\n`).join(''),
    };
  });
}
