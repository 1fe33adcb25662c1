/**
 * The limits of users and orgs, over all servers that share the records (H5). Running turns are counted in the
 * transaction that opens a turn. Requests are counted in the records too, several at a time. A user who was refused
 * costs at most one query from then on. A user who sends too many requests costs no query until there is room again.
 */
import { runsTheServer, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { OpenResult, RunLimits } from "../../records/record-store.ts";
import type { EngineDependencies, QuotaLimits } from "../dependencies.ts";
import { RateWindow } from "./rate-window.ts";

const markMs = 10_000;
/** How many windows, and how many refusals, are kept in memory. */
const keptMax = 10_000;

export class QuotaKeeper {
  readonly #deps: EngineDependencies;
  /** The users and orgs that were recently refused a turn, with the time until which this is remembered. */
  readonly #refused = new Map<string, number>();
  readonly #windows = new Map<string, RateWindow>();

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
  }

  /** Returns the limits that the store checks when it opens a turn. Undefined if there are none. */
  runLimits(caller: Caller): RunLimits | undefined {
    const { orgId } = caller;
    const quotas = this.#deps.quotas;
    if (quotas === undefined) return undefined;
    const perUser = runsTheServer(caller) ? quotas.concurrentRunsOfOwnerMax : quotas.concurrentRunsPerUserMax;
    const perOrg = quotas.ofOrg(orgId).concurrentRunsMax;
    return perUser === null && perOrg === null ? undefined : { orgId, perUser, perOrg };
  }

  /** Refuses a user or org that was recently refused, before a turn is prepared in vain. Throws `runs_limited`. */
  async refuseEarly(caller: Caller): Promise<void> {
    const { userId, orgId } = caller;
    const until = Math.max(this.#refused.get(userId) ?? 0, this.#refused.get(orgId) ?? 0);
    const limits = until > performance.now() ? this.runLimits(caller) : undefined;
    if (limits === undefined) return;
    const { user, org } = await this.#deps.records.limits.countRuns({ userId, orgId });
    const { perUser, perOrg } = limits;
    if (perUser !== null && user >= perUser)
      throw this.refusal(caller, { outcome: "limited", of: "user", running: user, limit: perUser });
    if (perOrg !== null && org >= perOrg)
      throw this.refusal(caller, { outcome: "limited", of: "org", running: org, limit: perOrg });
  }

  /** Returns the error for the store's refusal, and remembers it. */
  refusal(caller: Caller, { of, running, limit }: Extract<OpenResult, { outcome: "limited" }>): AptoveError {
    forgetOld(this.#refused, (until) => until <= performance.now());
    this.#refused.set(of === "user" ? caller.userId : caller.orgId, performance.now() + markMs);
    const whose = of === "user" ? "of your turns" : "turns of your org";
    const detail = `${running} ${whose} are running, and the limit is ${limit}; wait for one or interrupt it`;
    return new AptoveError("runs_limited", detail, { facts: { limit, of, retryAfterSeconds: 1 } });
  }

  /** Counts one request. Throws `rate_limited`. */
  async takeRequest(caller: Caller): Promise<void> {
    const quotas = this.#deps.quotas;
    const scopes = [...keyScope(caller), ...(quotas === undefined ? [] : scopesOf(quotas, caller))];
    for (const { scope, max, of } of scopes) {
      forgetOld(this.#windows, (window) => window.isIdle());
      let window = this.#windows.get(scope);
      if (window === undefined) this.#windows.set(scope, (window = new RateWindow(this.#deps.records, { scope, of })));
      await window.take(max);
    }
  }
}

function keyScope({ keyId, keyLimits }: Caller) {
  const max = keyLimits?.requestsPerMinuteMax ?? null;
  return keyId === undefined || max === null ? [] : [{ scope: `requests of key ${keyId}`, max, of: "key" as const }];
}

function scopesOf(quotas: QuotaLimits, { userId, orgId }: { userId: string; orgId: string }) {
  const perOrg = quotas.ofOrg(orgId).requestsPerMinuteMax;
  const user = quotas.sharedRequestsPerMinuteMax;
  return [
    ...(user === null ? [] : [{ scope: `requests of user ${userId}`, max: user, of: "user" as const }]),
    ...(perOrg === null ? [] : [{ scope: `requests of org ${orgId}`, max: perOrg, of: "org" as const }]),
  ];
}

function forgetOld<T>(map: Map<string, T>, isOld: (value: T) => boolean): void {
  if (map.size < keptMax) return;
  for (const [key, value] of map) if (isOld(value)) map.delete(key);
}
