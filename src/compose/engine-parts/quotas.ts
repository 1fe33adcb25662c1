/** What is configured for orgs: quotas (H5), and turns whose content is not to be kept (O3). */
import type { QuotaLimits, UnkeptPolicy } from "../../engine/dependencies.ts";
import type { Configuration } from "../../configuration/configuration.ts";

export function quotasOf({ limits, records }: Configuration): QuotaLimits {
  const all = {
    concurrentRunsMax: limits.concurrentRunsPerOrgMax,
    requestsPerMinuteMax: limits.requestsPerMinutePerOrgMax,
  };
  return {
    concurrentRunsPerUserMax: limits.concurrentRunsPerUserMax,
    concurrentRunsOfOwnerMax: limits.concurrentRunsOfOwnerMax,
    // The embedded store has only one server, which counts in memory.
    sharedRequestsPerMinuteMax: records.url === null ? null : limits.requestsPerMinuteMax,
    ofOrg: (orgId) => (Object.hasOwn(limits.orgs, orgId) ? limits.orgs[orgId] : undefined) ?? all,
  };
}

export function unkeptPolicyOf({ openaiApi: { storeFalse, orgs } }: Configuration): (orgId: string) => UnkeptPolicy {
  return (orgId) => (Object.hasOwn(orgs, orgId) ? orgs[orgId]?.storeFalse : undefined) ?? storeFalse;
}
