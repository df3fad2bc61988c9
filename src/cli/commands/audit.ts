import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addAuditCertificateCommand } from './audit-certificate.ts';
import { addAuditCheckpointCommand } from './audit-checkpoint.ts';
import { addAuditOpenCommand } from './audit-open.ts';
import { addAuditReportCommand } from './audit-report.ts';
import { addAuditRotateKeyCommand } from './audit-rotate-key.ts';
import { addAuditVerifyCommand } from './audit-verify.ts';

/** Adds `audit`: what was erased, shown to those who have to believe it. */
export function addAuditCommand(program: Command, context: CommandContext): void {
  const audit = program
    .command('audit')
    .description('show what was erased, and let others check it')
    .addHelpText(
      'after',
      `
Only a checkpoint that somebody outside keeps detects a ledger that was cut short or written anew: give one away now and
then, and hold the ledger against it later.

Examples:
  analytics-mirror audit checkpoint --out checkpoint.txt
  analytics-mirror audit verify --checkpoint checkpoint.txt
  analytics-mirror audit report --from 2026-10-01 --to 2026-12-31
  analytics-mirror audit certificate 3f2a`,
    );
  for (const add of [
    addAuditReportCommand,
    addAuditCertificateCommand,
    addAuditOpenCommand,
    addAuditCheckpointCommand,
    addAuditVerifyCommand,
    addAuditRotateKeyCommand,
  ])
    add(audit, context);
}
