/**
 * The operator's log: one line for each fault, and at a lower level one for each thing that the server did. The program has no
 * other channel to its operator. Secrets are removed from every line (E8). Lines of one request or one turn share its ids.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { errorCatalogue } from "../../domain/errors.ts";
import type { Activity, Observer, RequestEnded, TurnBegun, TurnEnded } from "../observer.ts";
import { redactor } from "../redact.ts";

export const logFormats = ["text", "json"] as const;
/** The levels, from few lines to many. Each includes the lines of those before it. */
export const logLevels = ["error", "warn", "info", "debug"] as const;
export type LogFormat = (typeof logFormats)[number];
export type LogLevel = (typeof logLevels)[number];

export interface OperatorLogOptions {
  format: LogFormat;
  level: LogLevel;
  /** Writes one line. The line has no line break at its end. */
  write(line: string): void;
  /** The values of known secrets. They are never written. */
  secrets: readonly string[];
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface OperatorLog {
  /** Logs a fault: at level `error` if an error is given, otherwise at `warn`. */
  report(message: string, error?: unknown): void;
  /** Logs requests and turns at level `info`, and calls of models and tools at `debug`. */
  observer: Partial<Observer>;
}

/** The ids of the current request and turn. They are added to every line that is written within it. */
interface LogContext {
  requestId?: string;
  turnId?: string;
  sessionId?: string;
}
type LogFields = Record<string, string | number | boolean | null | undefined>;

/** Longer texts are cut, so that a line stays a line. */
const fieldCharactersMax = 8_192;

export function operatorLog(options: OperatorLogOptions): OperatorLog {
  const { format, level, now } = options;
  const redact = redactor(options.secrets);
  const around = new AsyncLocalStorage<LogContext>();
  const isWritten = (of: LogLevel): boolean => logLevels.indexOf(of) <= logLevels.indexOf(level);

  const write = (of: LogLevel, event: string, fields: LogFields): void => {
    if (!isWritten(of)) return;
    const known = Object.entries({ ...around.getStore(), ...fields }).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, typeof value === "string" ? plain(value) : value] as const],
    );
    const line =
      format === "json"
        ? JSON.stringify({ time: new Date(now()).toISOString(), level: of, event, ...Object.fromEntries(known) })
        : textLine(event, Object.fromEntries(known));
    options.write(line);
  };
  const plain = (text: string): string => redact(text.slice(0, fieldCharactersMax).toWellFormed());

  /** Returns an activity that writes a line with its duration when it ends. */
  const logged = <End>(inside: LogContext, line: (end: End, durationMs: number) => LogLine): Activity<End> => {
    const begun = performance.now();
    const surroundings = { ...around.getStore(), ...inside };
    return {
      within: (work) => around.run(surroundings, work),
      end: (end) => {
        const { of, event, fields } = line(end, Math.round(performance.now() - begun));
        around.run(surroundings, () => write(of, event, fields));
      },
    };
  };
  return {
    report: (message, error) =>
      error === undefined
        ? write("warn", "report", { message })
        : write("error", "report", { message, ...errorFields(error, format) }),
    observer: {
      request: ({ requestId, method }) =>
        logged({ requestId }, (end: RequestEnded, durationMs) => requestLine(method, end, durationMs)),
      turn: (begun) =>
        logged({ turnId: begun.turnId, sessionId: begun.sessionId }, (end: TurnEnded, durationMs) =>
          turnLine(begun, end, durationMs),
        ),
      recovery: ({ turnId, sessionId, lostBy }) =>
        logged({ turnId, sessionId }, ({ outcome, code }, durationMs) => {
          const fields = { outcome, code, lostRunnerId: lostBy.runnerId, lostHost: lostBy.host, lostPid: lostBy.pid };
          // One that failed is tried again every few seconds. Why it failed is reported once.
          return {
            of: outcome === "recovered" ? "warn" : "debug",
            event: "recovery",
            fields: { ...fields, durationMs },
          };
        }),
      modelCall: ({ provider, step }) =>
        logged({}, (end, durationMs) => {
          const { model, code, responseId, stopReason } = end;
          const fields = { provider, model, step, code, responseId, stopReason, durationMs };
          return { of: "debug", event: "model_call", fields };
        }),
      toolCall: ({ name: tool, callId }) =>
        logged({}, ({ isError }, durationMs) => {
          return { of: "debug", event: "tool_call", fields: { tool, callId, isError, durationMs } };
        }),
      note: ({ type, ...fields }) => write(noteLevel(type), type, fields),
    },
  };
}

interface LogLine {
  of: LogLevel;
  event: string;
  fields: LogFields;
}

function requestLine(method: string, { route, status, code, caller }: RequestEnded, durationMs: number): LogLine {
  const isProbe = route === "/healthz" || route === "/readyz";
  // Probes come every few seconds, and matter only when they fail.
  const of = status >= 500 ? "warn" : isProbe ? "debug" : "info";
  const callerIds = { orgId: caller?.orgId, userId: caller?.userId };
  return { of, event: "request", fields: { method, route, status, code, durationMs, ...callerIds } };
}

function turnLine({ provider, model, caller }: TurnBegun, end: TurnEnded, durationMs: number): LogLine {
  const { outcome, code, usage, modelRequests, overheadMs, firstOutputMs } = end;
  const isOurs = outcome === "server_stopped" || (code !== null && errorCatalogue[code].status >= 500);
  const fields = {
    outcome,
    code,
    provider,
    model,
    durationMs,
    overheadMs: rounded(overheadMs),
    firstOutputMs: rounded(firstOutputMs),
    modelRequests,
    tokensIn: usage.input,
    tokensOut: usage.output,
    costUsd: usage.costUsd,
    orgId: caller.orgId,
    userId: caller.userId,
  };
  return { of: isOurs ? "warn" : "info", event: "turn", fields };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** Returns the level of a note. Renewals of leases and checks of stores are frequent, so they are only at `debug`. */
function noteLevel(type: string): LogLevel {
  return type === "leases_renewed" || type === "store_checked" ? "debug" : "info";
}

/** Returns the fields of an error. The stack is only in JSON, for log collectors; a person at a terminal reads the message. */
function errorFields(error: unknown, format: LogFormat): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  return format === "json" ? { error: error.message, stack: error.stack } : { error: error.message };
}

/** Formats a line of text. Line breaks in the values become spaces, so that no value can forge a line. */
function textLine(event: string, { message, error, ...rest }: LogFields): string {
  const pairs = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  const text = event === "report" ? `${message}${error === undefined ? "" : `: ${error}`}` : pairs.join(" ");
  return `aptove: ${event === "report" ? "" : `${event} `}${text}`.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}
