import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type BatchSpanProcessorOptions,
  type Sampler,
  type SpanExporter,
  type SpanLimits,
} from '@opentelemetry/sdk-trace';
import { AppError } from '../core/errors.ts';
import type { Tracer } from './tracer.ts';

/** The settings in OpenTelemetry's variables, under the SDK's own names. */
export type OtlpSettings = {
  protocol: 'http/json' | 'http/protobuf';
  sampler: { name: string; ratio: number };
  batch: Required<
    Omit<BatchSpanProcessorOptions, 'exporter' | 'selfObsMeterProvider' | 'disableAutoFlushOnDocumentHide'>
  >;
  limits: SpanLimits;
};

/** What a tracer needs besides. `onLost` gets the number of spans that the collector has not taken. */
export type TracerParts = { version: string; now: () => number; onLost: (spans: number, reason: string) => void };

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;
const closeTimeoutMs = 2_000;

/**
 * A tracer over OpenTelemetry's SDK. Work never waits for the collector. Nothing is registered for the whole process, and
 * no request to the service carries a trace id. The SDK itself reads the variables of the exporter (address, headers,
 * timeout, compression, certificates) and of the resource from the process.
 */
export function otlpTracer(
  { protocol, sampler, batch, limits }: OtlpSettings,
  { version, now, onLost }: TracerParts,
): Tracer {
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  const exporters = [new Exporter()];
  const exporter: SpanExporter = {
    export: (spans, done) =>
      exporters.at(-1)?.export(spans, (result) => {
        if (result.error) onLost(spans.length, reasonOf(result.error));
        done(result);
      }),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'analytics-mirror', 'service.version': version }))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerOf(sampler),
    spanLimits: limits,
    spanProcessors: [new BatchSpanProcessor({ ...batch, exporter })],
  });
  const tracer = provider.getTracer('analytics-mirror', version);
  const current = new AsyncLocalStorage<Context>();
  return {
    span: async (name, { kind, attributes }, work) => {
      const parent = current.getStore() ?? ROOT_CONTEXT;
      const startTime = now();
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes, startTime }, parent);
      try {
        return await current.run(trace.setSpan(parent, span), () => work((more) => void span.setAttributes(more)));
      } catch (error) {
        span.setAttribute('error.type', error instanceof AppError ? error.code : 'unexpected');
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        // If the clock was set back, the span must not end before it began.
        span.end(Math.max(startTime, now()));
      }
    },
    close: async () => {
      // An exporter keeps the process alive until its timeout. So the last exporter has a short one.
      exporters.push(new Exporter({ timeoutMillis: closeTimeoutMs }));
      const flush = async (): Promise<void> => {
        await provider.shutdown().catch(() => undefined);
        await Promise.all(exporters.map((each) => each.forceFlush()));
      };
      await Promise.race([flush(), delay(closeTimeoutMs + 1_000, undefined, { ref: false })]);
    },
  };
}

/** Why the collector has not taken spans, without quoting the collector. */
function reasonOf(error: Error & { code?: unknown }): string {
  if (typeof error.code === 'number') return `status ${error.code}`;
  return error.name === 'OTLPExporterError' ? 'busy' : 'no answer';
}

function samplerOf({ name, ratio }: OtlpSettings['sampler']): Sampler {
  const root = name.endsWith('always_off')
    ? new AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler();
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
