/**
 * Sends spans to a collector over OTLP, at the address in the standard `OTEL_EXPORTER_OTLP_*` variables. Aptove itself needs
 * only the OpenTelemetry API. An operator who wants traces installs the SDK too.
 */
import { context, propagation, trace } from "@opentelemetry/api";
import { AptoveError } from "../../domain/errors.ts";
import { withinMs } from "../../system/abort.ts";

export interface TraceExport {
  /** Sends the remaining spans, which takes at most five seconds, and stops. */
  close(): Promise<void>;
}

const packages = [
  "@opentelemetry/sdk-trace",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/core",
  "@opentelemetry/resources",
  "@opentelemetry/exporter-trace-otlp-http",
];
const flushMs = 5_000;

/** Starts the export. `ratio` is the share of traces to record, for requests that do not continue a trace. Throws `config_invalid` if the SDK is missing. */
export async function exportTraces({ version, ratio }: { version: string; ratio: number }): Promise<TraceExport> {
  const { sdk, hooks, core, resources, otlp } = await load();
  const named = resources.resourceFromAttributes({ "service.name": "aptove", "service.version": version });
  const provider = new sdk.TracerProvider({
    // The environment (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) overrides these attributes.
    resource: named.merge(resources.detectResources({ detectors: [resources.envDetector] })),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new otlp.OTLPTraceExporter() })],
  });
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    close: async () => {
      await withinMs(flushMs, provider.shutdown());
    },
  };
}

async function load() {
  try {
    const [sdk, hooks, core, resources, otlp] = await Promise.all([
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/context-async-hooks"),
      import("@opentelemetry/core"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/exporter-trace-otlp-http"),
    ]);
    return { sdk, hooks, core, resources, otlp };
  } catch (cause) {
    const line = `npm install ${packages.join(" ")}`;
    throw new AptoveError("config_invalid", `traces.exporter needs packages that are not installed; run: ${line}`, {
      cause,
    });
  }
}
