import type { Command } from 'commander';
import { type AppError, usageError } from '../../core/errors.ts';
import { requireRequest } from '../../erasure/receive.ts';
import { keysOf, refuseInside, signReceipts, writeReceipt } from '../../erasure/request/receipt.ts';
import { stateText } from '../../ledger/vocabulary-words.ts';
import { finalStates, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

/** Defines `erase receipt`: writes the receipt of one request, for the person who asked. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .argument('<id>', "the request's id, or its first characters")
    .requiredOption('--out <file>', 'the file to write (mode 0600), outside the data folder');
  return {
    help: `
The receipt holds the request's own key and the proof that its entry is on the ledger, and nothing else of the request. With the receipt and the identifier, \`audit open\`
shows which entry of the ledger and which certificates are about the person. The key here is destroyed when the request is
sealed.

Examples:
  analytics-mirror erase receipt 3f2a --out receipt.json`,
    run: async (app, id: string, { out }: { out: string }) => {
      refuseInside(app.settings.dataDir, out);
      const { request } = await eraseJob(app, context, (job) => {
        const request = requireRequest(job.db, id);
        const [receipt] = signReceipts(job, keysOf(job, [request.id]));
        if (!receipt) throw withoutKey(request);
        writeReceipt(out, receipt);
        return { counts: {}, request: request.id };
      });
      return { json: { request, file: out }, text: `receipt of request ${request} written to ${out}\n` };
    },
  };
}

function withoutKey({ id, state }: ErasureRequest): AppError {
  if (state === 'refused')
    return usageError(
      `request ${id} was refused as soon as its person was looked for, and keeps no key`,
      'give the identifier to `erase add --receipts` again: the receipt of that request has the answer',
    );
  if (finalStates.includes(state))
    return usageError(
      `request ${id} (${stateText(state)}): its key is destroyed`,
      'a receipt can be written when a request is received (`erase add --receipts`), and as long as it is open',
    );
  return usageError(
    `request ${id} has lost the key that its entry on the ledger was made with`,
    'the mirror is restored from a backup, or keys/box.key is another one: no receipt can be written any more',
  );
}
