/** Who watches the program run, by the configuration: the operator's log, metrics, traces. Each is loaded only where it is wanted. */
import type { OperatorLog } from "../telemetry/log/operator-log.ts";
import { observers, type Observer } from "../telemetry/observer.ts";
import type { Metrics } from "../telemetry/prometheus/metrics.ts";
import type { Configuration } from "../configuration/configuration.ts";

export interface ObservingRequest {
  configuration: Configuration;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  now: () => number;
  /** What the caller brought. */
  options: {
    report?: OperatorLog["report"];
    /** Takes a line of the log. */
    writeLog?: (line: string) => void;
    isCommand?: boolean;
    observer?: Partial<Observer>;
  };
}

export interface Observing {
  observer: Observer;
  report: OperatorLog["report"];
  /** Null: none are wanted. */
  metrics: Metrics | null;
  close(): Promise<void>;
}

export async function startObserving(request: ObservingRequest): Promise<Observing> {
  const { configuration, version, now, options } = request;
  const write = options.writeLog ?? ((line) => process.stderr.write(`${line}\n`));
  const { metrics: at, traces } = configuration;
  const form = options.isCommand === true ? commandForm(configuration.log) : configuration.log;
  const { operatorLog } = await import("../telemetry/log/operator-log.ts");
  const log = operatorLog({ ...form, write, now, secrets: secretsOf(request) });
  const metrics = at.port === null ? null : await openMetrics();
  const spans = traces.exporter === "none" ? null : await openTraces(version, traces.ratio);
  const isTold = form.level === "info" || form.level === "debug";
  const all = [isTold ? log.observer : null, spans?.observer, metrics?.observer, options.observer];
  return {
    observer: observers(all.filter((one) => one != null)),
    report: options.report ?? log.report,
    metrics,
    close: async () => await spans?.close(),
  };
}

/** What a server tells whoever collects its log is in the way of a command's own answer. */
function commandForm({ level }: Configuration["log"]): Configuration["log"] {
  return { format: "text", level: level === "error" ? level : "warn" };
}

async function openMetrics(): Promise<Metrics> {
  const { prometheusMetrics } = await import("../telemetry/prometheus/metrics.ts");
  return prometheusMetrics();
}

async function openTraces(
  version: string,
  ratio: number,
): Promise<{ observer: Partial<Observer>; close(): Promise<void> }> {
  const [{ exportTraces }, { spanObserver }] = await Promise.all([
    import("../telemetry/opentelemetry/export.ts"),
    import("../telemetry/opentelemetry/spans.ts"),
  ]);
  const { close } = await exportTraces({ version, ratio });
  return { observer: spanObserver(version), close };
}

const secretName = /key|token|secret|passw|credential|cookie/i;

/** What the configuration and the environment hold in confidence: no line of the log has it (E8). */
function secretsOf({ configuration, env }: ObservingRequest): string[] {
  const { providers, mcpServers, records, live } = configuration;
  const keys = [providers.openai, providers.anthropic, providers.google, ...providers.compatible];
  const servers = mcpServers.flatMap((server) => ("headers" in server ? Object.values(server.headers) : []));
  const variables = Object.entries(env).flatMap(([name, value]) =>
    // Names of variables, and of files, are no secrets.
    secretName.test(name) && !/_(?:ENV|FILE|PATH|URL)$/.test(name) && value !== undefined ? [value] : [],
  );
  const passwords = [records.url, live.redis].map((url) => URL.parse(url ?? "")?.password ?? "");
  return [
    ...keys.flatMap(({ apiKey }) => apiKey ?? []),
    ...servers.filter((one) => typeof one === "string"),
    ...variables,
    ...passwords,
    ...passwords.map((password) => decodeURIComponent(password)),
  ];
}
