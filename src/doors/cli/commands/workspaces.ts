/**
 * `aptove workspace list | create | show | permissions | delete | gc` (W1, W2, W6). Only `delete` and `gc` need the
 * database.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { WireSession } from "../../../client/client.ts";
import { builtInProviders } from "../../../configuration/configured-providers.ts";
import { isoTime } from "../../../domain/ids.ts";
import { limits } from "../../../domain/limits.ts";
import type { OpenedWorkspaces } from "../../../workspace/opened-workspaces.ts";
import { defaultWorkspaceId, type Workspace } from "../../../workspace/workspace-store.ts";
import { writePrivateFile } from "../../../system/durable-files.ts";
import type { CliInvocation } from "../invocation.ts";
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findWorkspace, shortId, shortIds } from "../lookup/find-by-id.ts";
import { plural } from "../output.ts";

export interface WorkspaceGcOptions extends ConfirmOptions {
  maxAge: number;
  dryRun?: boolean;
}

export async function listWorkspaces(call: CliInvocation): Promise<ExitCode> {
  const found = await described(await opened(call), call);
  const { output } = call;
  if (call.json) {
    output.json({ workspaces: found });
    return exitCodes.fine;
  }
  if (found.length === 0) output.note("there are no workspaces yet; the first chat, editor or device makes one");
  const short = shortIds(found.map(({ id }) => id));
  const rows = found.map(({ id, name, provider, lastAccessedAt, devices, damage }) => [
    short.get(id) ?? id,
    `used ${localTime(lastAccessedAt).slice(0, 16)}`,
    devices.length === 0 ? "no device" : plural(devices.length, "device"),
    provider ?? "",
    damage === null ? (name ?? "") : `damaged: ${damage}`,
  ]);
  output.table(rows);
  return exitCodes.fine;
}

export interface CreateWorkspaceOptions {
  name?: string;
  provider?: string;
  model?: string;
  /** The id that a device gave itself. */
  device?: string;
}

export async function createWorkspace(call: CliInvocation, options: CreateWorkspaceOptions): Promise<ExitCode> {
  const { workspaces, bindings } = await opened(call);
  const { name, provider, model, device } = options;
  if (provider !== undefined) refuseUnknownProvider(call, provider);
  const workspace = await workspaces.create({
    ...(name !== undefined && { name }),
    ...(provider !== undefined && { provider }),
  });
  if (model !== undefined) {
    const file = join(call.folder().workspaces, workspace.id, "config.toml");
    writePrivateFile(file, `[conversation_contexts.default]\nmodel = ${JSON.stringify(model)}\n`);
  }
  if (device !== undefined) await bindings.bind(device, workspace.id);
  const devices = device === undefined ? [] : [device];
  if (call.json) call.output.json({ ...shown(call, workspace), devices });
  else call.output.line(workspace.id);
  return exitCodes.fine;
}

function refuseUnknownProvider(call: CliInvocation, name: string): void {
  const { providers } = call.loaded().configuration;
  const known = [...builtInProviders, ...providers.compatible.map(({ id }) => id)];
  if (known.includes(name)) return;
  throw new UsageError(`there is no provider "${name}"`, `they are: ${known.join(", ")}`);
}

export async function showWorkspace(call: CliInvocation, id: string): Promise<ExitCode> {
  const workspace = findWorkspace(await described(await opened(call), call), id);
  const { output } = call;
  if (call.json) {
    output.json(workspace);
    return exitCodes.fine;
  }
  const { name, provider, devices, damage } = workspace;
  const rows = [
    ["id", workspace.id],
    ...(name === null ? [] : [["name", name]]),
    ["folder", workspace.folder],
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
  call: CliInvocation,
  text: string,
  { forget }: { forget?: string },
): Promise<ExitCode> {
  const { workspaces, permissions } = await opened(call);
  const { id } = findWorkspace(await workspaces.list(), text);
  if (forget !== undefined && !(await permissions.forget(id, forget))) {
    const fix = `see: aptove workspace permissions ${shortId(id)}`;
    throw new CommandFailed("not_found", `${JSON.stringify(forget)} is not allowed there`, fix);
  }
  const allowed = (await permissions.list(id)).map(({ key, allowedAt }) => ({ key, allowedAt: isoTime(allowedAt) }));
  const { output } = call;
  if (call.json) output.json({ id, allowed });
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
  call: CliInvocation,
  text: string,
  options: DeleteWorkspaceOptions,
): Promise<ExitCode> {
  const open = await opened(call);
  const { id, name, devices } = findWorkspace(await described(open, call), text);
  const called = name === null ? "" : ` "${call.output.safeNote(name)}"`;
  const bound = devices.length === 0 ? "" : `, and unbind ${plural(devices.length, "device")}`;
  const what = id === defaultWorkspaceId ? "transcripts and settings of default" : shortId(id);
  const sessions = options.purge === true ? await sessionsOf(call, id) : [];
  const taken = options.purge === true ? ` and its ${plural(sessions.length, "session")}` : "";
  const question = `delete ${what}${called}${taken} permanently${bound}? this cannot be undone`;
  if (!(await confirmUnlessYes(call, question, options))) return exitCodes.failed;
  await open.workspaces.delete(id, { isRunning: (each) => hasRunningTurn(call, each) });
  for (const session of sessions) await purge(call, session);
  const anew = id === defaultWorkspaceId ? "it is created again, empty, when it is next needed;  " : "";
  const left =
    options.purge === true
      ? `with ${plural(sessions.length, "session")}`
      : "its sessions are still there: aptove session list";
  if (call.json) call.output.json({ deleted: id, devices, sessions: sessions.map((session) => session.id) });
  else call.output.line(`${shortId(id)} deleted; ${anew}${left}`);
  return exitCodes.fine;
}

export async function collectWorkspaces(call: CliInvocation, options: WorkspaceGcOptions): Promise<ExitCode> {
  const { workspaces } = await opened(call);
  const { maxAge: maxAgeDays, dryRun = false } = options;
  const isRunning = (id: string): Promise<boolean> => hasRunningTurn(call, id);
  const collect = (only: { dryRun: boolean }): Promise<Workspace[]> =>
    workspaces.gc({ maxAgeDays, isRunning, ...only });
  const stale = await collect({ dryRun: true });
  const { output } = call;
  if (!dryRun && stale.length > 0) {
    for (const workspace of stale) output.note(output.safeNote(staleLine(workspace)));
    if (!(await confirmUnlessYes(call, `delete ${plural(stale.length, "workspace")} permanently?`, options))) {
      return exitCodes.failed;
    }
  }
  const taken = dryRun || stale.length === 0 ? stale : await collect({ dryRun: false });
  if (call.json) {
    output.json({ maxAgeDays, dryRun, workspaces: taken.map((workspace) => shown(call, workspace)) });
    return exitCodes.fine;
  }
  if (dryRun) for (const workspace of taken) output.line(output.safe(staleLine(workspace)));
  const what = `${plural(taken.length, "workspace")} not used for ${plural(maxAgeDays, "day")}`;
  output.line(dryRun ? `${what}; nothing was deleted` : `deleted ${what}`);
  return exitCodes.fine;
}

function staleLine({ id, name, lastAccessedAt }: Workspace): string {
  return `${shortId(id)}  used ${localTime(isoTime(lastAccessedAt)).slice(0, 16)}  ${name ?? ""}`.trimEnd();
}

/**
 * Returns true if a turn of the workspace runs. It reads the sessions, so it is called only for workspaces about to be
 * deleted.
 */
async function hasRunningTurn(call: CliInvocation, workspaceId: string): Promise<boolean> {
  // Without records there is no session, so no turn runs.
  if (call.loaded().configuration.records.url === null && !existsSync(call.folder().records)) return false;
  const client = await call.client();
  for (let cursor: string | null = null; ;) {
    const page = { workspaceId, limit: limits.pageSizeMax, ...(cursor !== null && { cursor }) };
    const { sessions, nextCursor } = await client.sessions.list(page);
    if (sessions.some(({ lastTurnStatus }) => lastTurnStatus === "pending")) return true;
    if (nextCursor === null) return false;
    cursor = nextCursor;
  }
}

/** Returns the caller's sessions of the workspace, archived ones too. */
async function sessionsOf(call: CliInvocation, workspaceId: string): Promise<WireSession[]> {
  if (!(await call.hasRecords())) return [];
  const client = await call.client();
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

async function purge(call: CliInvocation, { id }: WireSession): Promise<void> {
  const client = await call.client();
  await client.sessions.remove(id);
  await client.sessions.purge(id);
}

async function opened(call: CliInvocation): Promise<OpenedWorkspaces> {
  if (call.server() === null) return await call.workspaces();
  throw new UsageError("workspaces are on this machine's own data", "leave out --server (and APTOVE_SERVER)");
}

type Shown = ReturnType<typeof shown>;

function shown(call: CliInvocation, { id, createdAt, lastAccessedAt, ...workspace }: Workspace) {
  const folder = join(call.folder().workspaces, id);
  return { id, folder, createdAt: isoTime(createdAt), lastAccessedAt: isoTime(lastAccessedAt), ...workspace };
}

async function described(
  { workspaces }: OpenedWorkspaces,
  call: CliInvocation,
): Promise<(Shown & { devices: string[] })[]> {
  const [found, bindings] = await Promise.all([workspaces.list(), workspaces.devices()]);
  return found.map((workspace) => {
    const devices = bindings.filter(({ workspaceId }) => workspaceId === workspace.id);
    return { ...shown(call, workspace), devices: devices.map(({ deviceId }) => deviceId) };
  });
}
