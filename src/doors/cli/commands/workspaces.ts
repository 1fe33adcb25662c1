/**
 * `aptove workspace list | create | show | permissions | delete | gc` (W1, W2, W6). On this machine's data only `delete` and `gc`
 * need the database. On a named server, `gc` and the settings of `create` that are files are refused.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { WireSession } from "../../../client/client.ts";
import { builtInProviders } from "../../../configuration/configured-providers.ts";
import { isoTime } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { Workspace } from "../../../domain/workspace.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import { writePrivateFile } from "../../../system/durable-files.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findWorkspace } from "../lookup/find-by-id.ts";
import { reachedWorkspaces, type ReachedWorkspaces } from "../lookup/reached-workspaces.ts";
import { plural } from "../../../system/grouped-number.ts";

export interface WorkspaceGcOptions extends ConfirmOptions {
  maxAge: number;
  dryRun?: boolean;
}

export async function listWorkspaces(invocation: CliInvocation): Promise<ExitCode> {
  const found = await described(await reachedWorkspaces(invocation), invocation);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ workspaces: found });
    return exitCodes.fine;
  }
  if (found.length === 0) output.note(invocation.server() === null ? noWorkspaces : noneShown);
  const rows = found.map(({ id, name, provider, lastAccessedAt, devices, damage }) => [
    id,
    `used ${localTime(lastAccessedAt).slice(0, 16)}`,
    devices.length === 0 ? "no device" : plural(devices.length, "device"),
    provider ?? "",
    damage === null ? (name ?? "") : `damaged: ${damage}`,
  ]);
  output.table(rows, { spare: [3, 2, 1] });
  return exitCodes.fine;
}

const noWorkspaces = "there are no workspaces yet; the first chat, editor or device makes one";
const noneShown =
  "there are no workspaces that you may see; a server shows its workspaces to the admins of its first org only";

export interface CreateWorkspaceOptions {
  name?: string;
  provider?: string;
  model?: string;
  /** The id that a device gave itself. */
  device?: string;
}

export async function createWorkspace(invocation: CliInvocation, options: CreateWorkspaceOptions): Promise<ExitCode> {
  const { workspaces } = await reachedWorkspaces(invocation);
  const { name, provider, model, device } = options;
  if (model !== undefined || device !== undefined) ownDataOnly(invocation, "--model and --device");
  if (provider !== undefined && invocation.server() === null) refuseUnknownProvider(invocation, provider);
  const workspace = await workspaces.create({
    ...(name !== undefined && { name }),
    ...(provider !== undefined && { provider }),
  });
  if (model !== undefined) {
    const file = join(invocation.folder().workspaces, workspace.id, "config.toml");
    writePrivateFile(file, `[conversation_contexts.default]\nmodel = ${JSON.stringify(model)}\n`);
  }
  if (device !== undefined) await (await invocation.workspaces()).bindings.bind(device, workspace.id);
  const devices = device === undefined ? [] : [device];
  if (invocation.json) invocation.output.json({ ...shown(invocation, workspace), devices });
  else invocation.output.line(workspace.id);
  return exitCodes.fine;
}

function refuseUnknownProvider(invocation: CliInvocation, name: string): void {
  const { providers } = invocation.loaded().configuration;
  const known = [...builtInProviders, ...providers.compatible.map(({ id }) => id)];
  if (known.includes(name)) return;
  throw new UsageError(`there is no provider "${name}"`, `they are: ${known.join(", ")}`);
}

export async function showWorkspace(invocation: CliInvocation, id: string): Promise<ExitCode> {
  const workspace = findWorkspace(await described(await reachedWorkspaces(invocation), invocation), id);
  const { output } = invocation;
  if (invocation.json) {
    output.json(workspace);
    return exitCodes.fine;
  }
  const { name, provider, devices, damage } = workspace;
  const rows = [
    ["id", workspace.id],
    ...(name === null ? [] : [["name", name]]),
    ...(workspace.folder === undefined ? [] : [["folder", workspace.folder]]),
    ["made", localTime(workspace.createdAt)],
    ["last used", localTime(workspace.lastAccessedAt)],
    ...(provider === null ? [] : [["provider", provider]]),
    ["devices", devices.length === 0 ? "none" : devices.join(", ")],
    ...(damage === null ? [] : [["damaged", damage]]),
  ];
  output.table(rows);
  return exitCodes.fine;
}

export async function workspacePermissions(
  invocation: CliInvocation,
  text: string,
  { forget }: { forget?: string },
): Promise<ExitCode> {
  const { workspaces, permissions } = await reachedWorkspaces(invocation);
  const { id } = findWorkspace(await workspaces.listBound(), text);
  if (forget !== undefined && !(await permissions.forget(id, forget))) {
    const fix = `see: aptove workspace permissions ${id}`;
    throw new CommandFailed("not_found", `${JSON.stringify(forget)} is not allowed there`, fix);
  }
  const allowed = (await permissions.list(id)).map(({ key, allowedAt }) => ({ key, allowedAt: isoTime(allowedAt) }));
  const { output } = invocation;
  if (invocation.json) output.json({ id, allowed });
  else if (forget !== undefined) output.line(`asks again before: ${output.safe(forget)}`);
  else if (allowed.length === 0) output.note("nothing is allowed permanently: the tools ask each time");
  else {
    const rows = allowed.map(({ key, allowedAt }) => [localTime(allowedAt).slice(0, 16), JSON.stringify(key)]);
    output.table(rows);
  }
  return exitCodes.fine;
}

export interface DeleteWorkspaceOptions extends ConfirmOptions {
  /** True to delete its sessions permanently too. */
  purge?: boolean;
}

export async function deleteWorkspace(
  invocation: CliInvocation,
  text: string,
  options: DeleteWorkspaceOptions,
): Promise<ExitCode> {
  const { workspaces } = await reachedWorkspaces(invocation);
  const { id, name, devices, lastAccessedAt } = findWorkspace(await workspaces.listBound(), text);
  const called = name === null ? "" : ` "${invocation.output.safeNote(name)}"`;
  const bound = devices.length === 0 ? "" : `, and unbind ${plural(devices.length, "device")}`;
  const what = id === defaultWorkspaceId ? "transcripts and settings of default" : id;
  const sessions = options.purge === true ? await sessionsOf(invocation, id) : [];
  const taken = options.purge === true ? ` and its ${plural(sessions.length, "session")}` : "";
  const used = `it was last used ${localTime(isoTime(lastAccessedAt)).slice(0, 16)}`;
  const question = `delete ${what}${called}${taken} permanently${bound}? ${used}; this cannot be undone`;
  if (!(await confirmUnlessYes(invocation, question, options))) return exitCodes.failed;
  const isRunning = (each: string): Promise<boolean> => hasRunningTurn(invocation, each);
  await workspaces.delete(id, { isRunning, unusedSince: lastAccessedAt });
  for (const session of sessions) await purge(invocation, session);
  const anew = id === defaultWorkspaceId ? "it is created again, empty, when it is next needed;  " : "";
  const left =
    options.purge === true
      ? `with ${plural(sessions.length, "session")}`
      : "its sessions are still there: aptove session list";
  if (invocation.json)
    invocation.output.json({ deleted: id, devices, sessions: sessions.map((session) => session.id) });
  else invocation.output.line(`${id} deleted; ${anew}${left}`);
  return exitCodes.fine;
}

export async function collectWorkspaces(invocation: CliInvocation, options: WorkspaceGcOptions): Promise<ExitCode> {
  ownDataOnly(invocation, "deletions by age");
  const { workspaces } = await invocation.workspaces();
  const { maxAge: maxAgeDays, dryRun = false } = options;
  const isRunning = (id: string): Promise<boolean> => hasRunningTurn(invocation, id);
  const collect = (only: { dryRun: boolean }): Promise<Workspace[]> =>
    workspaces.gc({ maxAgeDays, isRunning, ...only });
  const stale = await collect({ dryRun: true });
  const { output } = invocation;
  if (!dryRun && stale.length > 0) {
    for (const workspace of stale) output.note(output.safeNote(staleLine(workspace)));
    if (!(await confirmUnlessYes(invocation, `delete ${plural(stale.length, "workspace")} permanently?`, options))) {
      return exitCodes.failed;
    }
  }
  const taken = dryRun || stale.length === 0 ? stale : await collect({ dryRun: false });
  if (invocation.json) {
    output.json({ maxAgeDays, dryRun, workspaces: taken.map((workspace) => shown(invocation, workspace)) });
    return exitCodes.fine;
  }
  if (dryRun) for (const workspace of taken) output.line(output.safe(staleLine(workspace)));
  const what = `${plural(taken.length, "workspace")} not used for ${plural(maxAgeDays, "day")}`;
  output.line(dryRun ? `${what}; nothing was deleted` : `deleted ${what}`);
  return exitCodes.fine;
}

function staleLine({ id, name, lastAccessedAt }: Workspace): string {
  return `${id}  used ${localTime(isoTime(lastAccessedAt)).slice(0, 16)}  ${name ?? ""}`.trimEnd();
}

/**
 * Returns true if a turn of the workspace runs. It reads the sessions, so it is called only for workspaces about to be
 * deleted.
 */
async function hasRunningTurn(invocation: CliInvocation, workspaceId: string): Promise<boolean> {
  // Without records there is no session, so no turn runs.
  if (invocation.loaded().configuration.records.url === null && !existsSync(invocation.folder().records)) return false;
  const client = await invocation.client();
  for (let cursor: string | null = null; ;) {
    const page = { workspaceId, limit: limits.pageSizeMax, ...(cursor !== null && { cursor }) };
    const { sessions, nextCursor } = await client.sessions.list(page);
    if (sessions.some(({ lastTurnStatus }) => lastTurnStatus === "pending")) return true;
    if (nextCursor === null) return false;
    cursor = nextCursor;
  }
}

/** Returns the caller's sessions of the workspace, archived ones too. */
async function sessionsOf(invocation: CliInvocation, workspaceId: string): Promise<WireSession[]> {
  if (invocation.server() === null && !(await invocation.hasRecords())) return [];
  const client = await invocation.client();
  const { userId } = await client.me();
  const found: WireSession[] = [];
  for (const archived of [false, true]) {
    for (let cursor: string | null = null; ;) {
      const page = { workspaceId, archived, limit: limits.pageSizeMax, ...(cursor !== null && { cursor }) };
      const { sessions, nextCursor } = await client.sessions.list(page);
      found.push(...sessions.filter((session) => session.userId === userId));
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
  }
  return [...new Map(found.map((session) => [session.id, session])).values()];
}

async function purge(invocation: CliInvocation, { id }: WireSession): Promise<void> {
  const client = await invocation.client();
  await client.sessions.remove(id);
  await client.sessions.purge(id);
}

function ownDataOnly(invocation: CliInvocation, what: string): void {
  if (invocation.server() === null) return;
  throw new UsageError(`${what} work on this machine's own data`, "leave out --server (and APTOVE_SERVER)");
}

function shown<W extends Workspace>(invocation: CliInvocation, { id, createdAt, lastAccessedAt, ...workspace }: W) {
  const folder = invocation.server() === null ? { folder: join(invocation.folder().workspaces, id) } : {};
  return { id, ...folder, createdAt: isoTime(createdAt), lastAccessedAt: isoTime(lastAccessedAt), ...workspace };
}

async function described({ workspaces }: ReachedWorkspaces, invocation: CliInvocation) {
  return (await workspaces.listBound()).map((workspace) => shown(invocation, workspace));
}
