/** The operator's log, metrics and traces, as the configuration asks for them. Each is loaded only if it is wanted. */
import type { OperatorLog } from "../telemetry/log/operator-log.ts";
import { observers, type Observer } from "../telemetry/observer.ts";
import type { PrometheusMetrics } from "../telemetry/prometheus/metrics.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { configuredSecrets } from "./configured-secrets.ts";
import type { ProcessOptions } from "./options.ts";

export interface TelemetrySetup {
  configuration: Configuration;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  now: () => number;
  options: ProcessOptions;
}

export interface Telemetry {
  observer: Observer;
  report: OperatorLog["report"];
  /** Removes the secrets of the configuration and the environment from a text (E8). */
  redact(text: string): string;
  /** Null if the configuration asks for no metrics. */
  metrics: PrometheusMetrics | null;
  close(): Promise<void>;
}

export async function startTelemetry(request: TelemetrySetup): Promise<Telemetry> {
  const { configuration, version, now, options } = request;
  const write = options.writeLog ?? ((line) => process.stderr.write(`${line}\n`));
  const { metrics: at, traces } = configuration;
  const form = options.isCommand === true ? commandForm(configuration.log) : configuration.log;
  const { operatorLog } = await import("../telemetry/log/operator-log.ts");
  const { redactor } = await import("../telemetry/redact.ts");
  const secrets = secretsOf(request);
  const log = operatorLog({ ...form, write, now, secrets });
  const metrics = at.port === null ? null : await openMetrics(version);
  const spans = traces.exporter === "none" ? null : await openTraces(version, traces.ratio);
  const isObserverLogged = form.level === "info" || form.level === "debug";
  const all = [isObserverLogged ? log.observer : null, spans?.observer, metrics?.observer, options.observer];
  return {
    observer: observers(all.filter((one) => one != null)),
    report: options.report ?? log.report,
    redact: redactor(secrets),
    metrics,
    close: async () => await spans?.close(),
  };
}

/** Returns the form of the log for a command. Its output must not be mixed with the lines that a server writes for a log collector. */
function commandForm({ level }: Configuration["log"]): Configuration["log"] {
  return { format: "text", level: level === "error" ? level : "warn" };
}

async function openMetrics(version: string): Promise<PrometheusMetrics> {
  const { prometheusMetrics } = await import("../telemetry/prometheus/metrics.ts");
  return prometheusMetrics(version);
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

/** Returns the secrets of the configuration and the environment. No line of the log contains one (E8). */
function secretsOf({ configuration, env }: TelemetrySetup): string[] {
  const { mcpServers, records, live } = configuration;
  const { names, values } = configuredSecrets(configuration);
  const servers = mcpServers.flatMap((server) => ("headers" in server ? Object.values(server.headers) : []));
  const variables = Object.entries(env).flatMap(([name, value]) =>
    // Names of variables, paths and addresses are not secrets.
    secretName.test(name) && !/_(?:ENV|FILE|PATH|URL)$/.test(name) && value !== undefined ? [value] : [],
  );
  const passwords = [records.url, live.redis].map((url) => URL.parse(url ?? "")?.password ?? "");
  return [
    ...values,
    ...names.flatMap((name) => env[name] ?? []),
    ...servers.filter((one) => typeof one === "string"),
    ...variables,
    ...passwords,
    ...passwords.map((password) => decodeURIComponent(password)),
  ];
}
