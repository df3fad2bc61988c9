import type { Command } from 'commander';
import { AppError } from '../../core/errors.ts';
import { requireRequest } from '../../erasure/receive.ts';
import { receiptsOf, refuseInside, writeReceipt } from '../../erasure/request/receipt.ts';
import { runEraseJob } from '../../erasure/fence/restore-guard.ts';
import { runCommand, type CommandContext } from '../command.ts';

/** Defines `erase receipt`: writes the receipt of one request, for the person who asked. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<id>', "the request's id, or its first characters")
    .requiredOption('--out <file>', 'the file to write (mode 0600), outside the data folder')
    .addHelpText(
      'after',
      `
The receipt holds the request's own key and nothing else of the request. With the receipt and the identifier, \`audit open\`
shows which entry of the ledger and which certificates are about the person. The key here is destroyed when the request is
sealed.

Examples:
  analytics-mirror erase receipt 3f2a --out receipt.json`,
    )
    .action((id: string) =>
      runCommand(context, command, async (app) => {
        const { out } = command.opts<{ out: string }>();
        refuseInside(app.settings.dataDir, out);
        const { request } = await runEraseJob(app.jobContext(context.signal), (job) => {
          const request = requireRequest(job.db, id).id;
          const [receipt] = receiptsOf(job, [request]);
          if (!receipt)
            throw new AppError(`the key of request ${request} is no longer kept`, {
              code: 'usage',
              hint: 'receipts are written when a request is received (`erase add --receipts`), or until it is sealed',
            });
          writeReceipt(out, receipt);
          return Promise.resolve({ outcome: 'done', counts: {}, request } as const);
        });
        return { json: { request, file: out }, text: `receipt of request ${request} written to ${out}\n` };
      }),
    );
}
