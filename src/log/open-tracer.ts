import { usageError } from '../core/errors.ts';
import type { OtlpSettings, TracerParts } from './otlp-tracer.ts';
import { silentTracer, type Tracer } from './tracer.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A tracer for the collector in OpenTelemetry's variables; else a silent one. Throws as `readOtlpSettings` does. */
export function openTracer(environment: Environment, parts: Pick<TracerParts, 'version' | 'now' | 'onLost'>): Tracer {
  const settings = readOtlpSettings(environment);
  if (settings === null) return silentTracer;
  let loading: Promise<Tracer> | undefined;
  const load = (): Promise<Tracer> =>
    (loading ??= import('./otlp-tracer.ts').then(({ otlpTracer }) => otlpTracer(settings, parts)));
  return {
    span: async (name, about, work) => (await load()).span(name, about, work),
    close: async () => (await loading)?.close(),
  };
}

/**
 * Reads the variables that OpenTelemetry's exporter and resource do not read by themselves
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Null if no span is to be sent.
 * Throws `usage` for an address that is not http, a protocol other than OTLP over HTTP, an unknown sampler, and a
 * number that cannot be read.
 */
export function readOtlpSettings(environment: Environment): OtlpSettings | null {
  const read = (name: string): string => environment[name]?.trim() ?? '';
  const exporter = (name: string): string =>
    read(`OTEL_EXPORTER_OTLP_TRACES_${name}`) || read(`OTEL_EXPORTER_OTLP_${name}`);
  const number = (name: string, otherwise: number): number => {
    const value = Number(read(name));
    if (!(value >= 0)) throw usageError(`${name} is not a number of 0 or more`, 'correct it, or unset it');
    return read(name) === '' ? otherwise : value;
  };
  const endpoint = exporter('ENDPOINT');
  const isOff = read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || read('OTEL_TRACES_EXPORTER') === 'none';
  if (endpoint === '' || isOff) return null;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw usageError('OTEL_EXPORTER_OTLP_ENDPOINT is not an http address', 'write it like http://collector:4318');
  const protocol = exporter('PROTOCOL') || 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json')
    throw usageError(
      'OTEL_EXPORTER_OTLP_PROTOCOL is neither http/protobuf nor http/json',
      'unset it, and name the port of the collector that takes OTLP over HTTP (4318 as a rule)',
    );
  const sampler = read('OTEL_TRACES_SAMPLER') || 'parentbased_always_on';
  if (!/^(parentbased_)?(always_on|always_off|traceidratio)$/.test(sampler))
    throw usageError(
      'OTEL_TRACES_SAMPLER names an unknown sampler',
      'unset it, or set always_on, always_off or traceidratio, with parentbased_ before it or not',
    );
  const queueMax = number('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  return {
    protocol,
    sampler: { name: sampler, ratio: number('OTEL_TRACES_SAMPLER_ARG', 1) },
    batch: {
      maxQueueSize: queueMax,
      maxExportBatchSize: Math.min(number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512), queueMax),
      scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY', 5_000),
      exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
    },
    limits: {
      attributeCountLimit: number('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', number('OTEL_ATTRIBUTE_COUNT_LIMIT', 128)),
      attributeValueLengthLimit: number(
        'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
        number('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', Infinity),
      ),
    },
  };
}
