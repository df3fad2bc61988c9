import { html } from 'hono/html';
import { axisEnd, type Markup } from '../markup/markup.ts';

/** A chart: for each category one number of each series. `id` is the element's id; screen readers read the description. */
export type BarChart = {
  id: string;
  title: string;
  description: string;
  /** Whether the bars of a category stand beside each other or on each other. */
  layout: 'beside' | 'stacked';
  /** Name, colour (one of four; the same thing has the same colour on a page), and the number of each category in order. */
  series: readonly { name: string; tone: 0 | 1 | 2 | 3; values: readonly number[] }[];
  categories: readonly string[];
};

/** A bar, in the chart's own units. */
export type Bar = { series: number; category: number; x: number; y: number; width: number; height: number };

const width = 640;
const height = 230;
const plot = { left: 38, right: 8, top: 18, bottom: 24 };
const plotWidth = width - plot.left - plot.right;
const plotHeight = height - plot.top - plot.bottom;
const labelsMax = 13;

/** The place of each bar. A value of 0 has no bar. */
export function layOut({ layout, series, categories }: Pick<BarChart, 'layout' | 'series' | 'categories'>): {
  bars: Bar[];
  end: number;
} {
  const valueOf = (index: number, category: number): number => series[index]?.values[category] ?? 0;
  const totals = categories.map((_name, category) => {
    const values = series.map((_series, index) => valueOf(index, category));
    return layout === 'stacked' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const end = axisEnd(Math.max(0, ...totals), 4);
  const slot = plotWidth / Math.max(1, categories.length);
  const group = Math.min(slot * 0.76, 56);
  const barWidth = layout === 'stacked' ? group : group / Math.max(1, series.length);
  const bars = categories.flatMap((_name, category) => {
    let below = 0;
    const left = plot.left + slot * category + (slot - group) / 2;
    return series.flatMap((_series, index): Bar[] => {
      const value = valueOf(index, category);
      const barHeight = (value / end) * plotHeight;
      const y = plot.top + plotHeight - barHeight - (layout === 'stacked' ? below : 0);
      below += barHeight;
      const x = left + (layout === 'stacked' ? 0 : barWidth * index);
      return value === 0 ? [] : [{ series: index, category, x, y, width: barWidth, height: barHeight }];
    });
  });
  return { bars, end };
}

/** Draws a chart with its legend, and a table of the same numbers beside it. */
export function barChart(chart: BarChart): Markup {
  const { id, title, description, series, categories } = chart;
  const { bars, end } = layOut(chart);
  const slot = plotWidth / Math.max(1, categories.length);
  const every = Math.ceil(categories.length / labelsMax);
  return html`<figure class="chart">
    <figcaption id="${id}">${title}</figcaption>
    <ul class="legend" aria-hidden="true">
      ${series.map(
        ({ name, tone }) =>
          html`<li>
            <svg width="12" height="12" focusable="false">
              <rect class="s${tone}" width="12" height="12" rx="2" />
            </svg>
            ${name}
          </li>`,
      )}
    </ul>
    <svg
      class="plot"
      viewBox="0 0 ${width} ${height}"
      role="img"
      aria-labelledby="${id}-title ${id}-desc"
      focusable="false"
    >
      <title id="${id}-title">${title}</title>
      <desc id="${id}-desc">${description} The table after it shows the same numbers.</desc>
      ${[0, 1, 2, 3, 4].map((quarter) => {
        const y = round(plot.top + plotHeight * (1 - quarter / 4));
        return html`<line class="grid" x1="${plot.left}" x2="${width - plot.right}" y1="${y}" y2="${y}" />
          <text x="${plot.left - 6}" y="${y + 4}" text-anchor="end">${(end / 4) * quarter}</text>`;
      })}
      ${bars.map(
        (bar) =>
          html`<rect
            class="s${series[bar.series]?.tone ?? 0}"
            x="${round(bar.x)}"
            y="${round(bar.y)}"
            width="${round(Math.max(1, bar.width - 1))}"
            height="${round(bar.height)}"
          />`,
      )}
      ${categories.map((name, index) =>
        index % every === 0
          ? html`<text x="${round(plot.left + slot * (index + 0.5))}" y="${height - 6}" text-anchor="middle">
              ${name}
            </text>`
          : '',
      )}
    </svg>
    <div class="table" role="region" tabindex="0" aria-labelledby="${id}">
      <table class="numbers">
        <caption class="unseen">
          ${title}, in numbers
        </caption>
        <thead>
          <tr>
            <td></td>
            ${series.map(({ name }) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${categories.map(
            (name, index) =>
              html`<tr>
                <th scope="row">${name}</th>
                ${series.map(({ values }) => html`<td>${values[index] ?? 0}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </figure>`;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
