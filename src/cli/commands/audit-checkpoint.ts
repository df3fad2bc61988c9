import type { Command } from 'commander';
import { writeRequestedFile } from '../../core/atomic-file.ts';
import { eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

/** Defines `audit checkpoint`: prints a signed checkpoint of the ledger. */
export function define(command: Command, context: CommandContext): CommandAction {
  command.option('--out <file>', 'write the checkpoint to this file too');
  return {
    help: `
Prints three lines (the ledger's name, the number of its entries, their root hash) and below them the signature. Give all
of it, with the file ledger/public-keys.txt, to a person outside: nothing else detects a ledger that is later cut short
or rewritten.

Examples:
  analytics-mirror audit checkpoint
  analytics-mirror audit checkpoint --out checkpoint.txt`,
    run: async (app, { out }: { out?: string }) => {
      const { size, rootHash, text } = await eraseJob(app, context, ({ ledger }) => ({
        counts: {},
        ...ledger().checkpoint(),
      }));
      if (out !== undefined) writeRequestedFile(out, text);
      return { json: { size, rootHash, checkpoint: text, file: out ?? null }, text };
    },
  };
}
