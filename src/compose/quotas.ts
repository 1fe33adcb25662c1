/** The configured quotas of users and orgs (H5). */
import type { QuotaLimits } from "../engine/dependencies.ts";
import type { Configuration } from "../configuration/configuration.ts";

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
