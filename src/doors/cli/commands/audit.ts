/** `aptove audit`: what the users of an org did, and what they were refused (H4). */
import type { AptoveClient, WireAuditEntry } from "../../../client/client.ts";
import { auditActions, type AuditAction } from "../../../domain/audit.ts";
import { isId } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { CliInvocation } from "../invocation.ts";
import { writtenTime } from "../lookup/written-time.ts";
import { localTime } from "../show/explain.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { allUsers, clientOf, findUser, type OrgOption } from "../lookup/find-people.ts";

export interface AuditOptions extends OrgOption {
  limit: number;
  user?: string;
  action?: string;
  target?: string;
  since?: string;
  until?: string;
}

export async function showAudit(invocation: CliInvocation, options: AuditOptions): Promise<ExitCode> {
  const action = auditActions.find((each) => each === options.action);
  if (options.action !== undefined && action === undefined) {
    throw new UsageError(`there is no action "${options.action}"`, `they are: ${auditActions.join(", ")}`);
  }
  const client = await clientOf(invocation, options);
  const entries = await readEntries(client, options, action);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ entries });
    return exitCodes.fine;
  }
  if (entries.length === 0) output.note("no entry of the log matches");
  const names = new Map(entries.length === 0 ? [] : (await allUsers(client)).map(({ id, name }) => [id, name]));
  output.table(entries.map((entry) => rowOf(entry, names)));
  if (entries.length === options.limit) output.note(`there may be more: --limit ${options.limit * 2}`);
  return exitCodes.fine;
}

async function readEntries(
  client: AptoveClient,
  { limit, user, target, since, until }: AuditOptions,
  action: AuditAction | undefined,
): Promise<WireAuditEntry[]> {
  const query = {
    ...(user !== undefined && { userId: (await findUser(client, user)).id }),
    ...(action !== undefined && { action }),
    ...(target !== undefined && { targetId: target }),
    ...(since !== undefined && { from: writtenTime("--since", since) }),
    ...(until !== undefined && { until: writtenTime("--until", until) }),
  };
  const found: WireAuditEntry[] = [];
  let cursor: string | null = "";
  while (cursor !== null && found.length < limit) {
    const page: Awaited<ReturnType<typeof client.audit>> = await client.audit({
      ...query,
      limit: Math.min(limit - found.length, limits.pageSizeMax),
      ...(cursor !== "" && { cursor }),
    });
    found.push(...page.entries);
    cursor = page.nextCursor;
  }
  return found;
}

/** Shows users by their names and other ids by their ends, as in every list. `--json` has the whole ids. */
function rowOf(entry: WireAuditEntry, names: ReadonlyMap<string, string>): string[] {
  const { at, userId, action, targetId, outcome, keyId, facts } = entry;
  const shown = (value: string | number | boolean): string => {
    const text = String(value);
    return names.get(text) ?? (isId(text) ? shortId(text) : text);
  };
  const factTexts = Object.entries(facts).map(([name, value]) => `${name}=${shown(value)}`);
  return [
    localTime(at),
    userId === null ? "operator" : shown(userId),
    action,
    targetId === null ? "-" : shown(targetId),
    outcome,
    [...(keyId === null ? [] : [`key=${shortId(keyId)}`]), ...factTexts].join(" "),
  ];
}
