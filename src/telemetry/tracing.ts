import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { createLineLimit } from './line-limit.ts';

const traceparentPattern = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** The trace headers of a request (W3C Trace Context); undefined if they are missing or invalid. */
export function traceHeaders(headers: IncomingHttpHeaders): Record<string, string> | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string' || !traceparentPattern.test(traceparent)) return undefined;
  const isShort = typeof tracestate === 'string' && tracestate.length <= 512;
  return isShort ? { traceparent, tracestate } : { traceparent };
}

/** Undefined without an exporter. */
let tracer: Tracer | undefined;
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Runs a function in a span, which ends with it. Without an exporter, the span does nothing. */
export function inSpan<Result>(
  name: string,
  options: SpanOptions,
  run: (span: Span) => Promise<Result>,
): Promise<Result> {
  if (!tracer) return run(noSpan);
  return tracer.startActiveSpan(name, options, (span) => run(span).finally(() => span.end()));
}

/** Starts a span that nothing runs in. Without an exporter, it does nothing. */
export function startSpan(name: string, options: SpanOptions): Span {
  return tracer?.startSpan(name, options) ?? noSpan;
}

/** Starts the span of a request, which continues the client's trace. Null without an exporter. */
export function startServerSpan(name: string, headers: IncomingHttpHeaders): Span | null {
  if (!tracer) return null;
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  return tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
}

/** Runs a function inside a span that was started before. */
export function withSpan<Result>(span: Span | null, run: () => Result): Result {
  return span ? context.with(trace.setSpan(context.active(), span), run) : run();
}

/** The id of the active span. Undefined without an exporter. */
export function activeSpanId(): string | undefined {
  return tracer && trace.getSpan(context.active())?.spanContext().spanId;
}

/** Marks a span as failed, with a type of error from a short list. */
export function fail(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType).setStatus({ code: SpanStatusCode.ERROR });
}

/** The headers that continue the active span, or the client's trace if there is none. */
export function outgoingTraceHeaders(incoming: Readonly<Record<string, string>> = {}) {
  if (!tracer) return incoming;
  const headers = { ...incoming };
  propagation.inject(context.active(), headers);
  return headers;
}

/** How traces are sampled and where they are sent. The variables are those of the OpenTelemetry specification. */
export type TracingConfig = {
  /** The full address. Undefined if traces are not exported. */
  endpoint: URL | undefined;
  /** The name of a sampler, such as `traceidratio`. With the prefix `parentbased_`, the client's decision takes precedence. */
  sampler: string;
  /** The share of traces that a ratio sampler keeps. */
  sampledShare: number;
};

/** Starts exporting traces over OTLP (HTTP, protobuf). Without an endpoint, the SDK is not loaded. */
export async function startTracing(
  config: TracingConfig,
  version: string,
  log: Logger,
): Promise<{ close(): Promise<void> }> {
  const { endpoint } = config;
  if (endpoint === undefined) return { async close() {} };
  const sdk = await import('@opentelemetry/sdk-trace');
  const core = await import('@opentelemetry/core');
  const resources = await import('@opentelemetry/resources');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
  const own = { 'service.name': 'ledger-gateway', 'service.version': version };
  const { envDetector, serviceInstanceIdDetector } = resources;
  const provider = new sdk.TracerProvider({
    sampler: samplerOf(config, sdk, log),
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: resources
      .defaultResource()
      .merge(resources.resourceFromAttributes(own))
      .merge(resources.detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: endpoint.href }) }),
    ],
  });
  const mayLog = createLineLimit(1, 60_000);
  // The SDK reports batches of spans that could not be exported.
  core.setGlobalErrorHandler((error) => {
    const fault = typeof error === 'string' ? error : (error.message ?? error.name ?? 'unknown');
    if (mayLog()) log.warn({ fault }, 'cannot export traces');
  });
  tracer = provider.getTracer('ledger-gateway');
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // An unreachable collector must not delay the shutdown or change the exit code.
  const shutdown = () => provider.shutdown().catch(() => {});
  return { close: () => Promise.race([shutdown(), sleep(2000, undefined, { ref: false })]) };
}

/** The sampler of the configuration. If a `traceparent` is not sampled, and decides, the log says so once. */
function samplerOf(
  { sampler: value, sampledShare }: TracingConfig,
  sdk: typeof import('@opentelemetry/sdk-trace'),
  log: Logger,
): Sampler {
  const off = new sdk.AlwaysOffSampler();
  const ratio = new sdk.TraceIdRatioBasedSampler(sampledShare);
  const always = value.endsWith('always_off') ? off : new sdk.AlwaysOnSampler();
  const root = value.endsWith('traceidratio') ? ratio : always;
  if (!value.startsWith('parentbased')) return root;
  let isSaid = false;
  const remoteParentNotSampled: Sampler = {
    shouldSample() {
      const variable = 'OTEL_TRACES_SAMPLER';
      const hint =
        'Set it to always_on, or to traceidratio, if what adds this header traces nothing.';
      // A proxy or a web framework that traces nothing may add such a header to each request.
      if (!isSaid)
        log.warn(
          { variable, value, hint },
          'request not traced because its traceparent is not sampled',
        );
      isSaid = true;
      return off.shouldSample();
    },
    toString: () => off.toString(),
  };
  return new sdk.ParentBasedSampler({ root, remoteParentNotSampled });
}
