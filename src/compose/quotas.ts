/** What people and orgs may ask for, by the configuration (H5). */
import type { Quotas } from "../engine/dependencies.ts";
import type { Configuration } from "../configuration/configuration.ts";

export function quotasOf({ limits, records }: Configuration): Quotas {
  const all = {
    concurrentRunsMax: limits.concurrentRunsPerOrgMax,
    requestsPerMinuteMax: limits.requestsPerMinutePerOrgMax,
  };
  return {
    concurrentRunsPerUserMax: limits.concurrentRunsPerUserMax,
    // With the embedded store there is one server, which counts in memory.
    sharedRequestsPerMinuteMax: records.url === null ? null : limits.requestsPerMinuteMax,
    ofOrg: (orgId) => (Object.hasOwn(limits.orgs, orgId) ? limits.orgs[orgId] : undefined) ?? all,
  };
}
