/** `aptove key create | list | revoke` (H4). */
import type { WireApiKey, WireKeyStart } from "../../../client/client.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortId, shortIds } from "../lookup/find-by-id.ts";
import { workspaceOrLabel } from "../lookup/named-workspace.ts";
import { writtenTime } from "../lookup/written-time.ts";
import { allKeys, allUsers, clientOf, findUser, type OrgOption } from "../lookup/find-people.ts";

export interface KeyOptions extends OrgOption {
  user?: string;
  days?: number;
  expires?: string;
  workspace?: string;
  maxRuns?: number;
  maxRequests?: number;
}

export async function createKey(invocation: CliInvocation, name: string, options: KeyOptions): Promise<ExitCode> {
  const expiresAt = expiryOf(options);
  if (options.org !== undefined && options.user === undefined) {
    throw new UsageError("--org needs the user whose key it is", "add --user <user>: see aptove user list");
  }
  const client = await clientOf(invocation, options);
  const userId = options.user === undefined ? undefined : (await findUser(client, options.user)).id;
  const created = await client.keys.create({
    name,
    ...(userId !== undefined && { userId }),
    ...(expiresAt !== null && { expiresAt }),
    ...(options.workspace !== undefined && { workspaceId: await workspaceOrLabel(invocation, options.workspace) }),
    ...limitsOf(options),
  });
  const { output } = invocation;
  if (invocation.json) {
    output.json(created);
    return exitCodes.fine;
  }
  output.line(created.secret);
  output.note("the key is shown only this once; use it as: Authorization: Bearer <key>");
  return exitCodes.fine;
}

function limitsOf({ maxRuns, maxRequests }: KeyOptions): Partial<Pick<WireKeyStart, "limits">> {
  if (maxRuns === undefined && maxRequests === undefined) return {};
  return { limits: { concurrentRunsMax: maxRuns ?? null, requestsPerMinuteMax: maxRequests ?? null } };
}

function expiryOf({ days, expires }: KeyOptions): string | null {
  if (days !== undefined) return new Date(Date.now() + days * 86_400_000).toISOString();
  if (expires === undefined) return null;
  const at = writtenTime("--expires", expires, "2027-01-31");
  if (Date.parse(at) <= Date.now())
    throw new UsageError(`--expires ${expires}: is past`, "give a later time; a date is its 00:00 UTC");
  return at;
}

export async function listKeys(invocation: CliInvocation, options: KeyOptions): Promise<ExitCode> {
  const client = await clientOf(invocation, options);
  const userId = options.user === undefined ? undefined : (await findUser(client, options.user)).id;
  const keys = await allKeys(client, userId);
  if (invocation.json) {
    invocation.output.json({ keys });
    return exitCodes.fine;
  }
  if (keys.length === 0) invocation.output.note("there are no keys; make one: aptove key create <name>");
  const short = shortIds(keys.map((key) => key.id));
  const owners = new Map((await allUsers(client)).map(({ id, name }) => [id, name]));
  const rows = keys.map((key) => [
    short.get(key.id) ?? key.id,
    `${key.prefix}…`,
    owners.get(key.userId) ?? shortId(key.userId),
    keyState(key),
    `made ${localTime(key.createdAt).slice(0, 16)}`,
    key.lastUsedAt === null ? "never used" : `used ${localTime(key.lastUsedAt).slice(0, 16)}`,
    key.name,
    limitsText(key),
  ]);
  invocation.output.table(rows);
  return exitCodes.fine;
}

/** Returns what only this key has: its workspace and its limits. */
function limitsText({ workspaceId, limits }: WireApiKey): string {
  const { concurrentRunsMax: runs = null, requestsPerMinuteMax: requests = null } = limits ?? {};
  return [
    ...(workspaceId === null ? [] : [`workspace ${workspaceId}`]),
    ...(runs === null ? [] : [`at most ${runs} running`]),
    ...(requests === null ? [] : [`at most ${requests} requests per minute`]),
  ].join(", ");
}

function keyState(key: WireApiKey): string {
  if (key.revokedAt !== null) return "revoked";
  if (key.expiresAt === null) return "valid";
  return Date.parse(key.expiresAt) < Date.now() ? "expired" : `until ${localTime(key.expiresAt).slice(0, 10)}`;
}

export async function revokeKey(invocation: CliInvocation, text: string, options: OrgOption): Promise<ExitCode> {
  const client = await clientOf(invocation, options);
  const found = (await allKeys(client)).filter((key) => isMeant(key, text));
  const [key, second] = found;
  if (key === undefined) {
    throw new CommandFailed("not_found", `there is no key "${text}"`, "see: aptove key list");
  }
  if (second !== undefined) {
    throw new UsageError(`"${text}" matches ${found.length} keys`, "give the id as aptove key list shows it");
  }
  await client.keys.revoke(key.id);
  if (invocation.json) invocation.output.json({ revoked: key.id });
  else invocation.output.line(`revoked ${invocation.output.safe(key.name)} (${key.prefix}…)`);
  return exitCodes.fine;
}

/**
 * Matches a key by id, by the end of its id, by the first characters of its secret, or by name. A revoked key never
 * matches.
 */
function isMeant(key: WireApiKey, text: string): boolean {
  if (key.revokedAt !== null) return false;
  return (text.length >= 4 && key.id.endsWith(text.toLowerCase())) || key.prefix === text || key.name === text;
}
