/** `aptove audit`: what the people of an org did, and were refused (H4). */
import type { WireAuditEntry } from "../../../client/client.ts";
import { auditActions, type AuditAction } from "../../../domain/audit.ts";
import { limits } from "../../../domain/limits.ts";
import type { Call } from "../call.ts";
import { localTime } from "../explain.ts";
import { exitCodes, UsageError } from "../failure.ts";
import type { ExitCode } from "../failure.ts";
import { columns } from "../output.ts";
import { clientOf, findUser, type OrgOption } from "./people.ts";

export interface AuditOptions extends OrgOption {
  limit: number;
  user?: string;
  action?: string;
  target?: string;
}

export async function showAudit(call: Call, options: AuditOptions): Promise<ExitCode> {
  const action = auditActions.find((each) => each === options.action);
  if (options.action !== undefined && action === undefined) {
    throw new UsageError(`there is no action "${options.action}"`, `they are: ${auditActions.join(", ")}`);
  }
  const entries = await readEntries(call, options, action);
  const { output } = call;
  if (call.json) output.json({ entries });
  else for (const line of columns(entries.map(rowOf))) output.line(output.safe(line));
  if (!call.json && entries.length === options.limit) output.note(`there may be more: --limit ${options.limit * 2}`);
  return exitCodes.fine;
}

async function readEntries(
  call: Call,
  { limit, user, target, ...where }: AuditOptions,
  action: AuditAction | undefined,
): Promise<WireAuditEntry[]> {
  const client = await clientOf(call, where);
  const query = {
    ...(user !== undefined && { userId: (await findUser(client, user)).id }),
    ...(action !== undefined && { action }),
    ...(target !== undefined && { targetId: target }),
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

function rowOf({ at, userId, action, targetId, outcome, keyId, facts }: WireAuditEntry): string[] {
  const said = Object.entries(facts).map(([name, value]) => `${name}=${value}`);
  return [
    localTime(at),
    userId ?? "operator",
    action,
    targetId ?? "-",
    outcome,
    [...(keyId === null ? [] : [`key=${keyId}`]), ...said].join(" "),
  ];
}
