import type { OnProgress } from '../job/job-context.ts';
import type { CommandContext } from './command.ts';
import { countText, durationText } from '../core/words.ts';

/** The progress of a job. `total` is null where it is unknown, `requestsLeft` where no window limits requests. */
export type ProgressState = {
  label: string;
  done: number;
  total: number | null;
  elapsedMs: number;
  requestsLeft: number | null;
};

const redrawMs = 100;
const barWidth = 24;

/** The line that shows the progress: bar, counts, rate, requests left in the budget, time left. */
export function progressLine({ label, done, total, elapsedMs, requestsLeft }: ProgressState): string {
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

/** Shows a job's progress on a terminal. `requestsLeft`: the requests that a part may make now; null: no limit. */
export async function reportProgress<T, Part extends string>(
  context: CommandContext,
  job: string,
  work: (onProgress: OnProgress<Part>) => Promise<T>,
  requestsLeft: (part: Part) => Promise<number | null> = () => Promise.resolve(null),
): Promise<T> {
  if (!context.isTerminal) return work(() => undefined);
  let current: { part: Part | null; startedAt: number } = { part: null, startedAt: 0 };
  let drawnAt = 0;
  let left: number | null = null;
  const draw: OnProgress<Part> = (part, done, total) => {
    const now = performance.now();
    if (part !== current.part) {
      current = { part, startedAt: now };
      left = null;
    } else if (now - drawnAt < redrawMs) return;
    drawnAt = now;
    const elapsedMs = now - current.startedAt;
    const label = `${job} ${part}`;
    // What is asked at one drawing is shown at the next one of the same part.
    const show = (requests: number | null): void => {
      if (part === current.part) left = requests;
    };
    void requestsLeft(part).then(show, () => show(null));
    const line = progressLine({ label, done, total, elapsedMs, requestsLeft: left });
    context.stderr.write(`\r\u001B[2K${line.slice(0, context.terminalColumns - 1)}`);
  };
  try {
    return await work(draw);
  } finally {
    context.stderr.write('\r\u001B[2K');
  }
}
