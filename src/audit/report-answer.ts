import { countedText, countText } from '../core/words.ts';
import type { AuditReport } from './report-data.ts';

/** What of a report waits for a person: each kind, in words. */
export function waitingForPerson({
  totals,
  fence,
  differences,
}: Pick<AuditReport, 'totals' | 'fence' | 'differences'>): string[] {
  const { held, attention } = totals;
  return [
    ...(held > 0 ? [`${countedText(held, 'request')} held for approval`] : []),
    ...(attention > 0 ? [`${countedText(attention, 'request')} in need of attention`] : []),
    ...(fence.recreated > 0
      ? [`${countedText(fence.recreated, 'identifier')} of erased people that the service has again`]
      : []),
    ...(differences.length > 0
      ? [`${countedText(differences.length, 'difference')} between mirror.db and the ledger`]
      : []),
  ];
}

/** The answer of a report, in one sentence: whether all was done in time, and if not, what was not. */
export function reportAnswer(
  report: Pick<AuditReport, 'totals' | 'access' | 'fence' | 'differences' | 'earlierOpen' | 'datedAheadOpen'>,
): { says: string; isGood: boolean } {
  const { received, complete, open, overdue, late, reopened, refused, cancelled, unproved } = report.totals;
  const waiting = waitingForPerson(report);
  const { access, earlierOpen, datedAheadOpen } = report;
  const wrong = [
    ...(overdue > 0 ? [`${countText(overdue)} overdue`] : []),
    ...(access.overdue > 0 ? [`${countedText(access.overdue, 'request')} for access overdue`] : []),
    ...(unproved > 0 ? [`${countText(unproved)} ended by age and unproved`] : []),
    ...(late > 0 ? [`${countText(late)} ended late`] : []),
    ...(reopened > 0 ? [`${countText(reopened)} opened again`] : []),
    ...(earlierOpen > 0 ? [`${countText(earlierOpen)} from before this period still open`] : []),
    ...(datedAheadOpen > 0 ? [`${countText(datedAheadOpen)} still open, dated later than this report`] : []),
  ];
  const waits = waiting.length > 0 ? `a person is needed: ${waiting.join(', ')}` : '';
  if (wrong.length > 0 || waits !== '')
    return {
      says: `${overdue + access.overdue + datedAheadOpen > 0 || waits !== '' ? 'Not all is done' : 'Not all went as it should'}: ${[wrong.join(', '), waits].filter(Boolean).join('; ')}.`,
      isGood: false,
    };
  if (received === 0) return { says: 'No request to erase a person was received in this period.', isGood: true };
  const rest = [
    ...(open > 0 ? [`${countText(open)} under way, none of them overdue`] : []),
    ...(refused > 0 ? [`${countText(refused)} refused`] : []),
    ...(cancelled > 0 ? [`${countText(cancelled)} cancelled`] : []),
  ];
  const begin = open === 0 ? 'All is done in time' : 'All is in time';
  return {
    says: `${begin}: ${countText(complete)} of ${countedText(received, 'request')} complete${rest.map((part) => `, ${part}`).join('')}.`,
    isGood: true,
  };
}
