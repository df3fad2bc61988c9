import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { usageError } from '../../core/errors.ts';
import { readWholeFile } from '../../core/folder.ts';
import { acknowledgeRequest, attestedBy } from '../../erasure/acknowledge.ts';
import { readAttestation, type Attestation } from '../../erasure/attest.ts';
import { readmit } from '../../erasure/readmit.ts';
import { approveRequest, cancelRequest } from '../../erasure/receive.ts';
import { together } from '../../erasure/request/together.ts';
import type { JobContext } from '../../job/job-context.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { decide, eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

const severalIds = "the requests' ids, or their first characters";

/** Defines `erase cancel`, `erase approve`, `erase acknowledge` or `erase readmit`: what a person decides about requests. */
export function define(command: Command, context: CommandContext): CommandAction {
  if (command.name() === 'cancel') {
    command.argument('<ids...>', severalIds);
    return {
      help: '\nExamples:\n  analytics-mirror erase cancel 3f2a',
      run: (app, ids: string[]) => decide(app, context, 'cancelled', () => ids, cancelRequest),
    };
  }
  if (command.name() === 'approve') {
    command.argument('[ids...]', severalIds).option('--all', 'approve every held request');
    return {
      help: '\nExamples:\n  analytics-mirror erase approve 3f2a\n  analytics-mirror erase approve --all',
      run: (app, ids: string[], { all }: { all?: boolean }) => {
        if (ids.length === 0 && !all) throw usageError('no request is named', 'name requests, or give --all');
        const heldIds = ({ db }: JobContext): string[] =>
          listRequests(db, 'open').flatMap(({ id, state }) => (state === 'held' ? [id] : []));
        return decide(app, context, 'approved', (job) => (all ? heldIds(job) : ids), approveRequest);
      },
    };
  }
  if (command.name() === 'acknowledge') {
    command
      .argument('[ids...]', severalIds)
      .option(
        '--report <file>',
        'the report of `erase kit`; beside it lies its signature, of ssh-keygen -Y sign (.sig)',
      )
      .requiredOption('--consumer <name>', 'the consumer that says so, as export.consumers names it')
      .option('--note <reference>', 'the ticket or role that has its word; the ledger keeps an HMAC of it');
    return {
      help: `
The ledger then says that an operator recorded it, and when; not that the copies of the consumer are gone. With a report, it says
that the consumer attests it: a report is refused that another key has signed, that is older than the erasure, whose control
row was not found, or that has erased people left. Without ids, it is for all requests that it can be of.

Examples:
  analytics-mirror erase acknowledge 3f2a --consumer warehouse
  analytics-mirror erase acknowledge 3f2a 51c0 --consumer crm-team --note TICKET-840
  analytics-mirror erase acknowledge --consumer warehouse --report report.json`,
      run: (app, ids: string[], given: AcknowledgeFlags) => {
        const attestation = attestationIn(app, given);
        if (ids.length === 0 && !attestation)
          throw usageError('no request is named', 'name requests, or give --report');
        return decide(
          app,
          context,
          'acknowledged',
          (job) => (attestation && ids.length === 0 ? attestedBy(attestation, job.ledger().histories.all()) : ids),
          (job, id) => acknowledgeRequest(job, id, { ...given, attestation }),
        );
      },
    };
  }
  command
    .argument('<ids...>', severalIds)
    .requiredOption('--reason <text>', 'the reason; the ledger keeps an HMAC of it');
  return {
    help: `
A person whom several requests have erased is let in by naming all of them.

Examples:
  analytics-mirror erase readmit 3f2a --reason 'new contract, TICKET-901'`,
    run: async (app, ids: string[], { reason }: { reason: string }) => {
      const { requests, fencedByOthers } = await eraseJob(app, context, (job) => {
        const lifted = together(job, (own) => readmit(own, ids, reason));
        return { counts: { readmitted: lifted.requests.length }, ...lifted };
      });
      return {
        json: { readmitted: requests.map(({ id }) => id), fenced_by_others: fencedByOthers },
        text: [
          ...requests.map(({ id }) => `readmitted ${id}\n`),
          ...fencedByOthers.map(
            (id) => `request ${id} of another person fences a distinct id of this one, too: it stays out\n`,
          ),
        ].join(''),
      };
    },
  };
}

type AcknowledgeFlags = { consumer: string; note?: string; report?: string };

const reportBytesMax = 1_000_000;

function attestationIn({ settings }: App, { consumer, report }: AcknowledgeFlags): Attestation | undefined {
  if (report === undefined) return undefined;
  const [bytes, signature] = [report, `${report}.sig`].map((path) => {
    if (existsSync(path)) return readWholeFile(path, reportBytesMax);
    throw usageError(`there is no file ${path}`, 'name the report, and sign it');
  }) as [Buffer, Buffer];
  return readAttestation({ report: bytes, signature: signature.toString(), consumer }, settings.export.fence);
}
