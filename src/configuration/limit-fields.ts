/** The keys of the section `[limits]` of the configuration: the limits that a person may change, and those of an org. */
import { limits } from "../domain/limits.ts";
import { namedField, numberField, sharedTableField, type ConfigField } from "./config-forms.ts";

/** The limits that a person may change, each with its smallest value. The other limits are part of a rule: see domain/limits.ts. */
export const changeableLimits = {
  requestBodyBytesMax: 1_024,
  importBytesMax: 1_024,
  concurrentRunsPerUserMax: 1,
  requestsPerMinuteMax: 1,
  activeFilesTokensMax: 0,
  retrievalChunksMax: 1,
  retrievalTokensMax: 100,
  providerAttemptsMax: 1,
  shutdownGraceMs: 0,
  heartbeatMs: 100,
  auditRetentionDays: 1,
} as const satisfies Partial<Record<keyof typeof limits, number>>;
export type ChangeableLimit = keyof typeof changeableLimits;

/** Returns a name as the configuration file writes it: `requestBodyBytesMax` becomes `request_body_bytes_max`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const limitAbouts: Record<ChangeableLimit, string> = {
  requestBodyBytesMax: "Maximum size of a request body, in bytes.",
  importBytesMax: "Maximum size of a file that the server imports over HTTP, in bytes.",
  concurrentRunsPerUserMax: "Maximum number of turns that run at the same time for one user.",
  requestsPerMinuteMax: "Maximum number of requests per minute from one user.",
  activeFilesTokensMax: "Maximum number of tokens of the active and modified files that one message gives the model.",
  retrievalChunksMax: "Maximum number of code chunks that a turn gives the model.",
  retrievalTokensMax: "Maximum number of tokens of these chunks together.",
  providerAttemptsMax:
    "Maximum number of attempts for one model call if the provider is overloaded, including the first.",
  shutdownGraceMs: "Time that running turns have to finish after a stop signal, in milliseconds.",
  heartbeatMs: "Idle time after which an event stream sends a heartbeat, in milliseconds.",
  auditRetentionDays: "Number of days that entries of the audit log are kept.",
};

function limitFields(): Record<string, ConfigField> {
  const names = Object.keys(changeableLimits) as ChangeableLimit[];
  const fields = names.map((name): [string, ConfigField] => {
    const range = { sample: limits[name], min: changeableLimits[name], max: 2_147_483_647 };
    return [snakeCase(name), numberField(limitAbouts[name], range)];
  });
  return Object.fromEntries(fields);
}

function orgRuns(): ConfigField {
  const about = "Maximum number of turns that run at the same time for one org, across all servers.";
  return numberField(about, { sample: 200, min: 1, max: 1_000_000 });
}

function orgRequests(): ConfigField {
  return numberField("Maximum number of requests per minute from one org, across all servers.", {
    sample: 12_000,
    min: 1,
    max: 100_000_000,
  });
}

/** The section `[limits]`. */
export const limitTable = sharedTableField("Limits. The built-in values suit most uses.", {
  ...limitFields(),
  concurrent_runs_per_org_max: orgRuns(),
  requests_per_minute_per_org_max: orgRequests(),
  orgs: namedField(
    "Limits of one org, in place of those for every org. `aptove key list --json` shows the org's id.",
    "acme",
    {
      concurrent_runs_max: orgRuns(),
      requests_per_minute_max: orgRequests(),
    },
  ),
});
