import type { OnProgress } from '../job/job-context.ts';
import type { CommandContext } from './command.ts';
import { countText, durationText, secondText } from '../core/words.ts';

/** What a part has of the budget: the requests that it may make now, null without a limit; and the pause that the service asked for. */
export type BudgetLook = { requestsLeft: number | null; pausedUntil: string | null };

/** The progress of a job. `total` is null where it is unknown. */
export type ProgressState = BudgetLook & { label: string; done: number; total: number | null; elapsedMs: number };

const unlimited: BudgetLook = { requestsLeft: null, pausedUntil: null };
const redrawMs = 100;
/** A job that waits reports nothing: its line is drawn anew so often. */
const redrawWaitingMs = 1000;
const barWidth = 24;

/** The line that shows the progress: bar, counts, rate, requests left in the budget, time left. */
export function progressLine({ label, done, total, elapsedMs, requestsLeft, pausedUntil }: ProgressState): string {
  if (pausedUntil !== null) return `${label}  ${countText(done)} rows  waits until ${secondText(pausedUntil)} (429)`;
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = `${countText(Math.round(perSecond))}/s`;
  const budget = requestsLeft === null ? '' : `  ${countText(requestsLeft)} requests free`;
  if (total === null || total <= 0) return `${label}  ${countText(done)} rows  ${rate}${budget}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  const left = perSecond > 0 ? `  ${durationText((Math.max(0, total - done) * 1000) / perSecond)} left` : '';
  return `${label}  ${bar}  ${countText(done)} of ${countText(total)}  ${rate}${budget}${left}`;
}

/** Shows a job's progress on a terminal. `look`: what a part has of the budget. */
export async function reportProgress<T, Part extends string>(
  context: CommandContext,
  job: string,
  work: (onProgress: OnProgress<Part>) => Promise<T>,
  look: (part: Part) => Promise<BudgetLook> = () => Promise.resolve(unlimited),
): Promise<T> {
  if (!context.isTerminal) return work(() => undefined);
  let current: { part: Part | null; startedAt: number } = { part: null, startedAt: 0 };
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
    const elapsedMs = now - current.startedAt;
    const line = progressLine({ label: `${job} ${part}`, done, total, elapsedMs, ...budget });
    context.stderr.write(`\r\u001B[2K${line.slice(0, context.terminalColumns - 1)}`);
  };
  const onProgress: OnProgress<Part> = (part, done, total) => {
    const now = performance.now();
    if (part !== current.part) {
      current = { part, startedAt: now };
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
