/** What a span is said to hold. Names of ours and numbers only: never an identifier, a URL, or a person's data. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A span that has ended. Times are in milliseconds since 1970. */
export type EndedSpan = {
  /** Hex: 16 bytes, and 8 bytes for a span; the parent's where it has one. */
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: 'internal' | 'client';
  startedAtMs: number;
  endedAtMs: number;
  attributes: Attributes;
  hasFailed: boolean;
};

const kinds = { internal: 1, client: 3 } as const;
const statusError = 2;

/**
 * Spans as the body of an export request in OTLP's JSON encoding
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids as hex, 64-bit integers as decimal text, enums
 * as numbers.
 */
export function otlpBody(spans: readonly EndedSpan[], resource: Attributes): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope: { name: 'analytics-mirror' }, spans: spans.map(encoded) }],
      },
    ],
  });
}

function encoded(span: EndedSpan): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanos(span.startedAtMs),
    endTimeUnixNano: nanos(span.endedAtMs),
    attributes: keyValues(span.attributes),
    status: span.hasFailed ? { code: statusError } : {},
  };
}

function nanos(ms: number): string {
  return String(BigInt(Math.round(ms)) * 1_000_000n);
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
