import { html } from 'hono/html';
import { drawChart, legend, type Chart } from '../markup/chart.ts';
import type { Markup } from '../markup/markup.ts';

/** Draws a chart with its title and legend, and a table of the same numbers beside it. `id` is the element's id. */
export function barChart(chart: Omit<Chart, 'label'> & { id: string; title: string; description: string }): Markup {
  const { id, title, description, series, categories } = chart;
  return html`<figure class="chart">
    <figcaption id="${id}">${title}</figcaption>
    ${legend(series)}
    ${drawChart({ ...chart, label: `${title}. ${description} The table after it shows the same numbers.` })}
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
