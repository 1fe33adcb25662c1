/**
 * The operator's channel: what goes wrong behind the scenes, and on request what the server did, a line each. It is the only
 * way by which the program tells its operator anything; every line goes through one redaction (E8), and a line of a request or
 * a turn carries the ids by which the others of the same one are found.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { errorCatalogue } from "../../domain/errors.ts";
import type { Activity, Observer, RequestEnded, TurnBegun, TurnEnded } from "../observer.ts";
import { redactor } from "../redact.ts";

export const logFormats = ["text", "json"] as const;
/** From few lines to many; each has those of the ones before it. */
export const logLevels = ["error", "warn", "info", "debug"] as const;
export type LogFormat = (typeof logFormats)[number];
export type LogLevel = (typeof logLevels)[number];

export interface OperatorLogOptions {
  format: LogFormat;
  level: LogLevel;
  /** Takes one line, without its end. */
  write(line: string): void;
  /** By value; never written. */
  secrets: readonly string[];
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface OperatorLog {
  /** Something went wrong; with an error it is told as one, else as a warning. */
  report(message: string, error?: unknown): void;
  /** Tells of requests and turns (`info`), and of calls of models and tools (`debug`). */
  observer: Partial<Observer>;
}

/** Ids of what is going on; they are added to every line that is written inside. */
interface Surroundings {
  requestId?: string;
  turnId?: string;
  sessionId?: string;
}
type Fields = Record<string, string | number | boolean | null | undefined>;

/** More of one text would be a text to read, not a line. */
const fieldCharactersMax = 8_192;

export function operatorLog(options: OperatorLogOptions): OperatorLog {
  const { format, level, now } = options;
  const redact = redactor(options.secrets);
  const around = new AsyncLocalStorage<Surroundings>();
  const tells = (of: LogLevel): boolean => logLevels.indexOf(of) <= logLevels.indexOf(level);

  const write = (of: LogLevel, event: string, fields: Fields): void => {
    if (!tells(of)) return;
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

  /** Ends with a line that says how long it took. */
  const told = <End>(inside: Surroundings, line: (end: End, durationMs: number) => Line): Activity<End> => {
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
        told({ requestId }, (end: RequestEnded, durationMs) => requestLine(method, end, durationMs)),
      turn: (begun) =>
        told({ turnId: begun.turnId, sessionId: begun.sessionId }, (end: TurnEnded, durationMs) =>
          turnLine(begun, end, durationMs),
        ),
      modelCall: ({ provider, step }) =>
        told({}, (end, durationMs) => {
          const { model, code, responseId, stopReason } = end;
          const fields = { provider, model, step, code, responseId, stopReason, durationMs };
          return { of: "debug", event: "model_call", fields };
        }),
      toolCall: ({ name: tool, callId }) =>
        told({}, ({ isError }, durationMs) => {
          return { of: "debug", event: "tool_call", fields: { tool, callId, isError, durationMs } };
        }),
      note: ({ type, ...fields }) => write(noteLevel(type), type, fields),
    },
  };
}

interface Line {
  of: LogLevel;
  event: string;
  fields: Fields;
}

function requestLine(method: string, { route, status, code, caller }: RequestEnded, durationMs: number): Line {
  const isProbe = route === "/healthz" || route === "/readyz";
  // Probes come every few seconds, and say something only when they fail.
  const of = status >= 500 ? "warn" : isProbe ? "debug" : "info";
  const who = { orgId: caller?.orgId, userId: caller?.userId };
  return { of, event: "request", fields: { method, route, status, code, durationMs, ...who } };
}

function turnLine({ provider, model, caller }: TurnBegun, end: TurnEnded, durationMs: number): Line {
  const { outcome, code, usage, modelRequests, overheadMs, firstOutputMs } = end;
  const isOurs = code !== null && errorCatalogue[code].status >= 500;
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

/** The rounds of leases are many, and say something only to those who look for them. */
function noteLevel(type: string): LogLevel {
  return type === "leases_renewed" ? "debug" : "info";
}

/** The place in the code is for programs that collect logs; a person at a terminal reads the message. */
function errorFields(error: unknown, format: LogFormat): Fields {
  if (!(error instanceof Error)) return { error: String(error) };
  return format === "json" ? { error: error.message, stack: error.stack } : { error: error.message };
}

/** What a text says cannot begin a line of its own. */
function textLine(event: string, { message, error, ...rest }: Fields): string {
  const pairs = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  const said = event === "report" ? `${message}${error === undefined ? "" : `: ${error}`}` : pairs.join(" ");
  return `aptove: ${event === "report" ? "" : `${event} `}${said}`.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}
