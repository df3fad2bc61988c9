import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { metricCatalogue } from './metric-catalogue.ts';
import type { Overview } from './overview.ts';

/** What `/metrics` is served as. */
export const metricsType = Registry.PROMETHEUS_CONTENT_TYPE;

/** The metrics of an overview in Prometheus's text format. */
export function metricsText({ version, startedAt, projects }: Overview): Promise<string> {
  const register = new Registry();
  const registers = [register];
  const info = 'The version that runs; always 1.';
  new Gauge({ name: 'analytics_mirror_info', help: info, labelNames: ['version'], registers }).set(
    { version },
    1,
  );
  new Gauge({
    name: 'analytics_mirror_start_timestamp_seconds',
    help: 'When the worker started.',
    registers,
  }).set(Date.parse(startedAt) / 1000);
  for (const { name, type, help, labels, read } of metricCatalogue) {
    const options = { name, help, labelNames: ['project', ...labels], registers };
    const samples = projects.flatMap((project) =>
      read(project).map((sample) => ({
        value: sample.value,
        labels: { project: project.name, ...sample.labels },
      })),
    );
    if (type === 'gauge') {
      const gauge = new Gauge(options);
      for (const sample of samples) gauge.set(sample.labels, sample.value);
    } else {
      const counter = new Counter(options);
      for (const sample of samples) counter.inc(sample.labels, sample.value);
    }
  }
  return register.metrics();
}

/** Gathers what the process says of itself (`process_*`, `nodejs_*`: memory, handles, how busy the event loop is). */
export function processMetrics(): () => Promise<string> {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return () => register.metrics();
}
