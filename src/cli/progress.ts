import type { CommandContext } from './context.ts';
import { formatCount, formatDuration } from './format.ts';

/** How far some work has come. `total` is null where nobody knows it. */
export type ProgressState = { label: string; done: number; total: number | null; elapsedMs: number };

/** Hears how many rows of how many a part of the work has taken. */
export type OnProgress = (part: string, done: number, total: number | null) => void;

const redrawMs = 100;
const barWidth = 24;

/** The line that shows a state: bar, counts, rate and time left. */
export function progressLine({ label, done, total, elapsedMs }: ProgressState): string {
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = `${formatCount(Math.round(perSecond))}/s`;
  if (total === null || total <= 0) return `${label}  ${formatCount(done)} rows  ${rate}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  const left =
    perSecond > 0 ? `  ${formatDuration((Math.max(0, total - done) * 1000) / perSecond)} left` : '';
  return `${label}  ${bar}  ${formatCount(done)} of ${formatCount(total)}  ${rate}${left}`;
}

/** Shows on standard error how far work has come while it runs; where that is no terminal, nothing is written. */
export async function reportProgress<T>(
  context: CommandContext,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  if (!context.isTerminal) return work(() => undefined);
  let current = { label: '', startedAt: 0 };
  let drawnAt = 0;
  const draw: OnProgress = (label, done, total) => {
    const now = performance.now();
    if (label !== current.label) current = { label, startedAt: now };
    else if (now - drawnAt < redrawMs) return;
    drawnAt = now;
    const line = progressLine({ label, done, total, elapsedMs: now - current.startedAt });
    context.stderr.write(`\r\u001B[2K${line.slice(0, context.terminalColumns - 1)}`);
  };
  try {
    return await work(draw);
  } finally {
    context.stderr.write('\r\u001B[2K');
  }
}
