import { Option, type Command } from 'commander';
import { decisionOf, type Decision } from '../ledger/record.ts';
import { deciders, exceptions, identityChecks } from '../ledger/vocabulary.ts';

/** How a request was decided, as flags give it. */
export type DecisionFlags = {
  decidedBy?: Decision['decided_by'];
  identity?: Decision['identity'];
  exception?: Decision['exception'];
};

/** Adds the options with which an operator states how a request was decided. Certificates say what is not stated. */
export function addDecisionOptions(command: Command): Command {
  return command
    .addOption(new Option('--decided-by <role>', 'who decided, for the certificate').choices(deciders))
    .addOption(new Option('--identity <check>', 'how the identity was checked').choices(identityChecks))
    .addOption(
      new Option('--exception <code>', 'why data may be kept (Art. 17(3) GDPR), where any are').choices(exceptions),
    );
}

/** The decision that flags state, as the ledger records it. */
export function decisionIn({ decidedBy, identity, exception }: DecisionFlags): Decision {
  return decisionOf({ decided_by: decidedBy, identity, exception });
}
