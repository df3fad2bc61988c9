import { Option, type Command } from 'commander';
import { usageError } from '../../core/errors.ts';
import { amendRequest } from '../../erasure/amend.ts';
import { bases, basisCode } from '../../ledger/vocabulary.ts';
import { eraseJob } from '../erase-job.ts';
import { addDecisionOptions, decisionIn, type DecisionFlags } from '../decision-options.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { suggesting } from '../global-options.ts';

type AmendFlags = DecisionFlags & { by?: string; basis?: string };

/** Defines `erase amend`: mends the basis of an open request and its reference, and states how it was decided. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .argument('<id>', "the request's id, or its first characters")
    .option('--by <reference>', 'the role or ticket that asks for it')
    .addOption(suggesting(new Option('--basis <code>', 'the legal basis, or a code of your own'), bases));
  addDecisionOptions(command);
  return {
    help: `
Use it where a name or an address stands in --by or --basis: the old words leave mirror.db and its free space. The ledger
keeps the change as a code and an HMAC. It never held the words.

Examples:
  analytics-mirror erase amend 3f2a --by TICKET-812
  analytics-mirror erase amend 3f2a --basis objection
  analytics-mirror erase amend 3f2a --decided-by data_protection_officer --identity document`,
    run: async (app, id: string, options: AmendFlags) => {
      const { by, basis } = options;
      const decision = decisionIn(options);
      if (by === undefined && basis === undefined && Object.keys(decision).length === 0)
        throw usageError('nothing to amend is given', 'give --by, --basis, --decided-by, --identity or --exception');
      const { request } = await eraseJob(app, context, async (job) => {
        const request = await amendRequest(job, id, { by, basis, decision });
        return { counts: { amended: 1 }, request };
      });
      return { json: { request }, text: `amended ${request.id}\n${basis === undefined ? '' : recordedText(basis)}` };
    },
  };
}

/** Says how the ledger and the certificate record a code that is not one of theirs. */
export function recordedText(basis: string): string {
  return basisCode(basis) === basis
    ? ''
    : `the ledger and the certificate record the basis ${basis} as \`other\`; mirror.db keeps the code until the request ends\n`;
}
