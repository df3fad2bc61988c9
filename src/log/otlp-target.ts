import { AppError } from '../core/errors.ts';

/** Where spans are sent to, and with which headers. These may hold a secret. */
export type OtlpTarget = { url: string; headers: Readonly<Record<string, string>>; serviceName: string };

/**
 * Where the standard variables of OpenTelemetry want spans sent; null where they want none
 * (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). Throws `usage` for what is no address, and for a
 * protocol that is not spoken: only OTLP over HTTP as JSON is.
 */
export function readOtlpTarget(environment: Readonly<Record<string, string | undefined>>): OtlpTarget | null {
  const of = (name: string): string =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || environment[`OTEL_EXPORTER_OTLP_${name}`] || '';
  const own = environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const isOff =
    environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' ||
    environment['OTEL_TRACES_EXPORTER'] === 'none';
  const endpoint = own || (base ? `${base.replace(/\/$/, '')}/v1/traces` : '');
  if (endpoint === '' || isOff) return null;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw new AppError('OTEL_EXPORTER_OTLP_ENDPOINT is no http address', {
      code: 'usage',
      hint: 'write it like http://collector:4318',
    });
  const protocol = of('PROTOCOL');
  if (protocol !== '' && protocol !== 'http/json')
    throw new AppError('OTEL_EXPORTER_OTLP_PROTOCOL names a protocol that is not spoken: only http/json is', {
      code: 'usage',
      hint: 'unset it, and name the port of the collector that takes OTLP over HTTP (4318 as a rule)',
    });
  return {
    url: endpoint,
    headers: Object.fromEntries(of('HEADERS').split(',').flatMap(headerOf)),
    serviceName: environment['OTEL_SERVICE_NAME'] || 'analytics-mirror',
  };
}

/** `name=value`, percent-encoded, as in W3C Baggage. */
function headerOf(pair: string): [string, string][] {
  const [, name, value] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
  if (name === undefined || value === undefined) return [];
  try {
    return [[name, decodeURIComponent(value)]];
  } catch {
    return [[name, value]];
  }
}
