import type { OnProgress } from '../job/job-context.ts';
import type { CommandContext } from './command.ts';
import { countText, durationText, secondText } from '../core/words.ts';

/**
 * What a part has of the budget: the requests that it may make now, null without a limit; until when it waits for the next one, and why;
 * null where it does not wait.
 */
export type BudgetLook = {
  requestsLeft: number | null;
  waits: { until: string; why: 'the budget' | 'the service (429)' } | null;
};

/** The progress of a job, of which `before` rows were done when it began. `total` is null where it is unknown. */
export type ProgressState = BudgetLook & {
  label: string;
  done: number;
  before: number;
  total: number | null;
  elapsedMs: number;
};

const unlimited: BudgetLook = { requestsLeft: null, waits: null };
const redrawMs = 100;
/** A job that waits reports nothing: its line is drawn anew so often. */
const redrawWaitingMs = 1000;
const barWidth = 24;
/** A narrower terminal shows the numbers alone. */
const barFromColumns = 80;

/** The line that shows the progress: bar, counts, rate, requests left in the budget, time left; or what is waited for. */
export function progressLine(
  { label, done, before, total, elapsedMs, requestsLeft, waits }: ProgressState,
  columns = barFromColumns,
): string {
  const counted =
    total === null || total <= 0 ? `${countText(done)} rows` : `${countText(done)} of ${countText(total)}`;
  if (waits !== null) return waitingLine(label, waits, { counted, columns });
  const perSecond = elapsedMs > 0 ? ((done - before) * 1000) / elapsedMs : 0;
  const rate = `${countText(Math.round(perSecond))}/s`;
  const budget = requestsLeft === null ? '' : `  ${countText(requestsLeft)} requests free`;
  if (total === null || total <= 0) return `${label}  ${counted}  ${rate}${budget}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const bar = columns < barFromColumns ? '' : `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}  `;
  const left = perSecond > 0 ? `  ${durationText((Math.max(0, total - done) * 1000) / perSecond)} left` : '';
  return `${label}  ${bar}${counted}  ${rate}${budget}${left}`;
}

/** What is waited for. A narrow terminal shows less of it, and no number that is cut off. */
function waitingLine(
  label: string,
  { why, until }: NonNullable<BudgetLook['waits']>,
  { counted, columns }: { counted: string; columns: number },
): string {
  const whole = `${label}  waits for ${why} until ${secondText(until)}`;
  const least = `${label}  waits until ${until.slice(11, 19)} UTC`;
  return [`${whole}  ${counted}`, whole].find(({ length }) => length < columns) ?? least;
}

/** Shows a job's progress on a terminal. `look`: what a part has of the budget. */
export async function reportProgress<T, Part extends string>(
  context: CommandContext,
  job: string,
  work: (onProgress: OnProgress<Part>) => Promise<T>,
  look: (part: Part) => Promise<BudgetLook> = () => Promise.resolve(unlimited),
): Promise<T> {
  if (!context.isTerminal) return work(() => undefined);
  let current: { part: Part | null; startedAt: number; before: number } = { part: null, startedAt: 0, before: 0 };
  let drawnAt = 0;
  let budget = unlimited;
  let latest: { done: number; total: number | null } = { done: 0, total: null };
  const draw = (part: Part, { done, total } = latest): void => {
    const now = performance.now();
    drawnAt = now;
    latest = { done, total };
    // What is asked at one drawing is shown at the next one of the same part.
    const show = (seen: BudgetLook): void => {
      if (part === current.part) budget = seen;
    };
    void look(part).then(show, () => show(unlimited));
    const { startedAt, before } = current;
    const state = { label: `${job} ${part}`, done, before, total, elapsedMs: now - startedAt, ...budget };
    const line = progressLine(state, context.terminalColumns);
    context.stderr.write(`\r\u001B[2K${line.slice(0, context.terminalColumns - 1)}`);
  };
  const onProgress: OnProgress<Part> = (part, done, total) => {
    const now = performance.now();
    if (part !== current.part) {
      // A pass that goes on has rows from before.
      current = { part, startedAt: now, before: done };
      budget = unlimited;
    } else if (now - drawnAt < redrawMs) return;
    draw(part, { done, total });
  };
  const timer = setInterval(() => {
    if (current.part !== null && performance.now() - drawnAt >= redrawWaitingMs) draw(current.part);
  }, redrawWaitingMs);
  try {
    return await work(onProgress);
  } finally {
    clearInterval(timer);
    context.stderr.write('\r\u001B[2K');
  }
}
