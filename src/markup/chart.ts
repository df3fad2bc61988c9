import { html } from 'hono/html';
import { scaleBand, scaleLinear } from 'd3-scale';
import { line, stack } from 'd3-shape';
import { countText } from '../core/words.ts';
import type { Markup } from './markup.ts';

/** One thing that a chart shows: its name, its colour (a class of the page), and its number in each category. */
export type Series = { name: string; tone: 's0' | 's1' | 's2'; values: readonly (number | null)[] };

/** A chart. `label` is what a screen reader says of it; the same numbers stand beside it. */
export type Chart = {
  label: string;
  /** Whether the values are lines, bars beside each other, or bars on each other. */
  marks: 'lines' | 'beside' | 'stacked';
  series: readonly Series[];
  /** From left to right. An empty text has no label. */
  categories: readonly string[];
  /** A line across the chart, where it does not flatten what is below. */
  limit?: number | undefined;
};

/** The drawing has these units, and is stretched to the room that the page has. */
const size = { width: 600, height: 100 };
const ticksWanted = 4;
const labelsMax = 13;
/** A bar is no wider, however few there are. */
const barWidthMax = size.width / 12;
const limitTimesMax = 4;

/** The style of a chart. The page has the colours: `--line`, `--soft` and `--s0` to `--s2`. */
export const plotStyle = `
.plot { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem .6rem; }
.plot .y { display: flex; flex-direction: column; justify-content: space-between; align-items: flex-end; margin-block: -.41rem; font-size: .82rem; line-height: 1; color: var(--soft); }
.plot svg { display: block; width: 100%; height: 8.5rem; overflow: visible; }
.plot .x { grid-column: 2; display: flex; justify-content: space-around; font-size: .82rem; color: var(--soft); }
.plot .x span { width: 0; display: flex; justify-content: center; white-space: nowrap; }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.f-s0 { fill: var(--s0); } .f-s1 { fill: var(--s1); } .f-s2 { fill: var(--s2); }
.l-s0, .l-s1, .l-s2 { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.dot { stroke-width: 8; }
.l-s0 { stroke: var(--s0); } .l-s1 { stroke: var(--s1); } .l-s2 { stroke: var(--s2); }
@media (max-width: 40rem) { .plot .odd { visibility: hidden; } }
`.trim();

/** A bar of a chart, in units of the drawing. */
export type Bar = { series: number; category: number; x: number; y: number; width: number; height: number };

/** Places of a chart's bars, and the numbers of its axis, which ends with the last of them. A value of 0 has no bar. */
export function layOut({ marks, series, categories, limit }: Chart): {
  bars: Bar[];
  ticks: number[];
  limitY: number | null;
} {
  const indexes = categories.map((_name, index) => index);
  const valueOf = (index: number, category: number): number => series[index]?.values[category] ?? 0;
  const layers = stack<number, number>()
    .keys(series.keys())
    .value((category, key) => valueOf(key, category))(indexes);
  const tops =
    marks === 'stacked' ? layers.flat().map(([, top]) => top) : layers.flat().map(([from, top]) => top - from);
  const most = Math.max(1, ...tops);
  const isLimitShown = limit !== undefined && limit <= most * limitTimesMax;
  const y = scaleLinear([0, isLimitShown ? Math.max(most, limit) : most], [size.height, 0]).nice(ticksWanted);
  const x = scaleBand<number>(indexes, [0, size.width]).padding(0.24);
  const abreast = marks === 'stacked' ? 1 : Math.max(1, series.length);
  const width = Math.min(barWidthMax, x.bandwidth() / abreast);
  const inset = (x.bandwidth() - width * abreast) / 2;
  const bars = layers.flatMap((layer, index) =>
    layer.flatMap(([from, to], category): Bar[] => {
      const [low, high] = marks === 'stacked' ? [from, to] : [0, to - from];
      const left = (x(category) ?? 0) + inset + (marks === 'stacked' ? 0 : width * index);
      return low === high ? [] : [{ series: index, category, x: left, y: y(high), width, height: y(low) - y(high) }];
    }),
  );
  return { bars, ticks: y.ticks(ticksWanted).filter(Number.isInteger), limitY: isLimitShown ? y(limit) : null };
}

/** Draws a chart with its axes. It needs no script, takes its colours from the page, and fills the width that it gets. */
export function drawChart(chart: Chart): Markup {
  const { label, marks, series, categories } = chart;
  const { bars, ticks, limitY } = layOut(chart);
  const end = ticks.at(-1) ?? 1;
  const every = Math.ceil(categories.filter((name) => name !== '').length / labelsMax);
  const fromEnd = (index: number): number => categories.length - 1 - index;
  const labels = categories.map((name, index) => (fromEnd(index) % every === 0 ? name : ''));
  const isOdd = (index: number): boolean => categories.length > labelsMax / 2 && (fromEnd(index) / every) % 2 === 1;
  const place = (index: number): number => round(((index + 0.5) / categories.length) * size.width);
  const height = (value: number): number => round(size.height * (1 - value / end));
  const curve = line<number | null>()
    .defined((value) => value !== null)
    .x((_value, index) => place(index))
    .y((value) => height(value ?? 0));
  const alone = (values: Series['values'], tone: string): Markup | string => {
    const dots = dotsOf(values, (index, value) => `${place(index)},${height(value)}`);
    return dots === '' ? '' : html`<path class="l-${tone} dot" d="${dots}" />`;
  };
  return html`<div class="plot">
    <div class="y" aria-hidden="true">${ticks.toReversed().map((tick) => html`<span>${countText(tick)}</span>`)}</div>
    <svg
      viewBox="0 0 ${size.width} ${size.height}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${label}"
      focusable="false"
    >
      ${ticks.map((tick) => html`<path class="grid" d="M0,${height(tick)}H${size.width}" />`)}
      ${series.map(({ tone, values }, index) =>
        marks === 'lines'
          ? html`<path class="l-${tone}" d="${curve(values) ?? ''}" />${alone(values, tone)}`
          : html`<path class="f-${tone}" d="${pathOf(bars.filter((bar) => bar.series === index))}" />`,
      )}
      ${limitY === null ? '' : html`<path class="limit" d="M0,${round(limitY)}H${size.width}" />`}
    </svg>
    <div class="x" aria-hidden="true">
      ${labels.map((name, index) => html`<span class="${isOdd(index) ? 'odd' : ''}">${name}</span>`)}
    </div>
  </div>`;
}

/** The path of dots for the values of a line that have no neighbour: a line of one value would not be seen. */
function dotsOf(values: readonly (number | null)[], at: (index: number, value: number) => string): string {
  const isNone = (index: number): boolean => (values[index] ?? null) === null;
  return values
    .map((value, index) => (value !== null && isNone(index - 1) && isNone(index + 1) ? `M${at(index, value)}h0` : ''))
    .join('');
}

/** The names of a chart's colours. */
export function legend(series: readonly Pick<Series, 'name' | 'tone'>[], more: Markup | string = ''): Markup {
  return html`<ul class="legend" aria-hidden="true">
    ${series.map(({ name, tone }) => html`<li>${swatch(tone)} ${name}</li>`)}${more}
  </ul>`;
}

/** A square of one colour. */
export function swatch(tone: string): Markup {
  return html`<svg viewBox="0 0 12 14" focusable="false"><rect class="f-${tone}" y="1" width="12" height="12" /></svg>`;
}

function pathOf(bars: readonly Bar[]): string {
  return bars
    .map(({ x, y, width, height }) => `M${round(x)},${round(y)}h${round(width)}v${round(height)}h-${round(width)}z`)
    .join('');
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
