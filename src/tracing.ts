import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  context,
  propagation,
  type Span,
  type SpanOptions,
  trace,
} from '@opentelemetry/api';

/** How long the last spans may take to leave, in milliseconds. */
const FLUSH_MS = 2000;

const traceparentPattern = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;
const MAX_TRACESTATE = 512;

/** The headers of a caller's trace (W3C Trace Context), to be passed on; none where they are malformed. */
export function traceOf({
  traceparent,
  tracestate,
}: IncomingHttpHeaders): Record<string, string> | undefined {
  if (typeof traceparent !== 'string' || !traceparentPattern.test(traceparent)) return undefined;
  const isShort = typeof tracestate === 'string' && tracestate.length <= MAX_TRACESTATE;
  return isShort ? { traceparent, tracestate } : { traceparent };
}

const tracer = trace.getTracer('ledger-gateway');
let exporting = false;

/**
 * Runs something in a span of its own, as a part of `parent` or of the span that is active. While no
 * traces are exported there is no span, and it costs nothing.
 */
export function inSpan<Result>(
  name: string,
  options: SpanOptions,
  run: (span: Span | undefined) => Result,
  parent?: () => Context,
): Result {
  if (!exporting) return run(undefined);
  return tracer.startActiveSpan(name, options, parent?.() ?? context.active(), run);
}

/**
 * Starts exporting traces over OTLP (HTTP, protobuf) to `endpoint`. Without an endpoint nothing of
 * the SDK is loaded.
 */
export async function startTracing(endpoint: URL | undefined): Promise<{ close(): Promise<void> }> {
  if (endpoint === undefined) return { async close() {} };
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, core, resources] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
    ]);
  const url = new URL('v1/traces', endpoint.href.replace(/\/?$/, '/')).href;
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': 'ledger-gateway' }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
  });
  trace.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  exporting = true;
  return {
    async close() {
      // A collector that is away must not hold the process, nor change how it ends.
      await Promise.race([
        provider.shutdown().catch(() => {}),
        sleep(FLUSH_MS, null, { ref: false }),
      ]);
      exporting = false;
      trace.disable();
      propagation.disable();
      context.disable();
    },
  };
}
