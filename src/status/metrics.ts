import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { isHere } from '../job/worker-state.ts';
import { metricCatalogue } from './metric-catalogue.ts';
import type { Overview } from './overview.ts';

/** The content type of `/metrics`. */
export const metricsType = Registry.PROMETHEUS_CONTENT_TYPE;

/** The metrics of an overview in Prometheus's text format. A name that ends in `_total` is a counter, any other a gauge. */
export function metricsText({ version, startedAt, projects }: Overview): Promise<string> {
  const register = new Registry();
  const registers = [register];
  const info = 'The version that runs; always 1.';
  new Gauge({ name: 'analytics_mirror_info', help: info, labelNames: ['version'], registers }).set({ version }, 1);
  new Gauge({ name: 'analytics_mirror_start_timestamp_seconds', help: 'When the worker started.', registers }).set(
    Date.parse(startedAt) / 1000,
  );
  for (const { name, help, labels, read } of metricCatalogue) {
    const options = { name, help, labelNames: ['project', ...labels], registers };
    const metric = name.endsWith('_total') ? new Counter(options) : new Gauge(options);
    for (const project of projects)
      for (const { labels: own, value } of read(project))
        // Of a project of a cluster that this machine does not hold, it gives only that, and whether no machine works on it.
        if (isHere(project) || name === 'analytics_mirror_project_here' || own['kind'] === 'unattended')
          metric.inc({ project: project.name, ...own }, value);
  }
  return register.metrics();
}

/** Returns a reader of the process's own metrics (`process_*`, `nodejs_*`: memory, handles, load of the event loop). */
export function processMetrics(): () => Promise<string> {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return () => register.metrics();
}
