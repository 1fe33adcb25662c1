/** The common part of `session/new`, `load`, `resume` and `fork`: checks folders and MCP servers, and opens the session (P1). */
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { McpServer as WireMcpServer } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import { repositoryNames } from "../../../domain/repositories.ts";
import type { Session } from "../../../domain/session.ts";
import type { SessionStart } from "../../../engine/engine.ts";
import type { McpServer } from "../../../tools/session-tools.ts";
import type { AcpClient } from "../client/acp-client.ts";
import { metaKeys, metaOf } from "../meta.ts";
import { choiceKey } from "./follow-choices.ts";
import { OpenSession, type SessionFacts } from "./open-session.ts";
import type { AcpPorts, FolderRepository, OpenedPorts } from "../ports.ts";
import { readMemory } from "./session-memory.ts";
import { SessionOptions } from "./session-options.ts";

/** The fields that all four requests share. */
export interface SessionSetupRequest {
  cwd: string;
  additionalDirectories?: readonly string[] | null | undefined;
  mcpServers?: readonly WireMcpServer[] | null | undefined;
  _meta?: { [key: string]: unknown } | null | undefined;
}

export interface SessionSetup {
  folders: [string, ...string[]];
  mcpServers: McpServer[];
  /** The repository of the working directory. */
  repo: string | null;
  /** The repositories of all folders, by their names, in the order of the folders (M7). */
  repositories: ReadonlyMap<string, FolderRepository>;
}

/** Checks the fields. Throws `request_invalid` for a folder that does not exist and for an MCP server with an unsupported transport. */
export async function checkSetup(
  { repositoryOf }: Pick<AcpPorts, "repositoryOf">,
  { cwd, additionalDirectories, mcpServers }: SessionSetupRequest,
): Promise<SessionSetup> {
  const others = additionalDirectories ?? [];
  await checkFolder("cwd", cwd);
  await Promise.all(others.map((folder) => checkFolder("additionalDirectories", folder)));
  const servers = (mcpServers ?? []).map(mcpServer);
  const [own, ...added] = await Promise.all([cwd, ...others].map(repositoryOf));
  const repositories = new Map([own, ...added].flatMap((each) => (each ? [[each.repo, each] as const] : [])));
  return { folders: [cwd, ...others], mcpServers: servers, repo: own?.repo ?? null, repositories };
}

/** Returns the repositories of a new session. One whose working directory is in no repository searches none. */
export function repositoriesOfNew({ repo, repositories }: SessionSetup): Pick<SessionStart, "repo" | "otherRepos"> {
  if (repo === null) return {};
  const others = [...repositories.keys()].filter((name) => name !== repo);
  return { repo, ...(others.length > 0 && { otherRepos: others }) };
}

/** Returns the repository in which the user works, and the folders of a session about several. Throws `request_invalid`. */
function openedRepositories(
  session: Session,
  { repo, repositories }: SessionSetup,
): Pick<SessionFacts, "repo" | "repositories"> {
  const names = repositoryNames(session);
  if (names.length === 0) return { repo: repo ?? session.repo, repositories: [] };
  if (repo !== null && !names.includes(repo)) {
    const detail = `the session is about ${names.join(", ")}; open it in a folder of one of them`;
    throw new AptoveError("request_invalid", detail);
  }
  return { repo: repo ?? session.repo, repositories: names.flatMap((name) => repositories.get(name) ?? []) };
}

async function checkFolder(field: string, folder: string): Promise<void> {
  const shown = `${field}: ${JSON.stringify(folder)}`;
  if (folder.includes("\u0000")) throw new AptoveError("request_invalid", `${shown} contains a NUL character`);
  if (!isAbsolute(folder)) throw new AptoveError("request_invalid", `${shown} is not an absolute path`);
  const found = await stat(folder).catch(() => null);
  if (found === null) throw new AptoveError("request_invalid", `${shown} does not exist`);
  if (!found.isDirectory()) throw new AptoveError("request_invalid", `${shown} is not a folder`);
}

/** Reads an MCP server. Throws `request_invalid` for a transport that the agent does not offer. */
function mcpServer(server: WireMcpServer): McpServer {
  const { name } = server;
  if (!("type" in server)) {
    const { command, args, env } = server;
    return { type: "stdio", name, command, args, env: record(env) };
  }
  if (server.type !== "http" && server.type !== "sse") {
    const { type } = server as { type: string };
    const detail = `the MCP server "${name}" has the transport "${type}"; use stdio, http or sse`;
    throw new AptoveError("request_invalid", detail);
  }
  return { type: server.type, name, url: server.url, headers: record(server.headers) };
}

function record(entries: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

/**
 * Returns the device of the request, or null. If the connection belongs to a device, it is always that one (P2). Throws
 * `forbidden` if the request names another device.
 */
export function deviceOf({ deviceId }: Pick<AcpPorts, "deviceId">, meta: SessionSetupRequest["_meta"]): string | null {
  const named = meta?.[metaKeys.deviceId];
  if (named === undefined || named === null || named === "") return deviceId;
  if (typeof named !== "string") throw new AptoveError("request_invalid", "the device id must be a text");
  if (deviceId === null || named === deviceId) return named;
  throw new AptoveError("forbidden", "this connection belongs to another device; open another connection for this one");
}

/** Returns the workspace for a session. The session's label may be no workspace of this data folder. */
async function workspaceOf(
  { ports, opened }: { ports: AcpPorts; opened: OpenedPorts },
  session: Pick<Session, "workspaceId">,
): Promise<string> {
  const { workspaces } = opened;
  if (session.workspaceId !== null && (await workspaces.exists(session.workspaceId))) return session.workspaceId;
  return ports.deviceId === null ? await workspaces.standard() : await workspaces.ofDevice(ports.deviceId);
}

/** Returns the session. A device sees only the sessions of its own workspace, whatever ids it guesses (W2). Throws `not_found`. */
export async function getVisibleSession(
  { ports, opened }: { ports: AcpPorts; opened: OpenedPorts },
  sessionId: string,
): Promise<Session> {
  const session = await opened.engine.sessions.get(opened.caller, sessionId);
  const own = ports.deviceId === null ? session.workspaceId : await opened.workspaces.ofDevice(ports.deviceId);
  if (session.workspaceId === own) return session;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(sessionId)}`);
}

export interface ConnectionContext {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: AcpClient;
}

/** Opens a session. `mode` is used if the session remembers none. */
export async function openSession(
  context: ConnectionContext,
  session: Session,
  { setup, mode }: { setup: SessionSetup; mode: string | null },
): Promise<OpenSession> {
  const workspaceId = await workspaceOf(context, session);
  const choices = await context.opened.workspaces.choices(workspaceId);
  const memory = readMemory(session);
  // The fields of the session count. Earlier versions kept both only in the metadata.
  const model = session.model ?? memory.model;
  const remembered = { ...memory, model, effort: session.settings.reasoningEffort ?? memory.effort };
  const options = SessionOptions.of(session, choices, { ...remembered, mode: remembered.mode ?? mode });
  const facts = {
    id: session.id,
    workspaceId,
    folders: setup.folders,
    options,
    name: session.name,
    ...openedRepositories(session, setup),
    // A fork without a turn of its own continues from the turn that it was forked at.
    headTurnId: session.headTurnId ?? session.originTurnId,
  };
  const open = new OpenSession(facts, { ...context, mcpServers: setup.mcpServers });
  open.choice = choiceKey(session);
  return open;
}

/** Returns the common part of the responses: the session's options, workspace and head. */
export function setupAnswer({ facts }: OpenSession) {
  const modes = facts.options.modes();
  return {
    ...(modes !== null && { modes }),
    configOptions: facts.options.list(),
    ...metaOf({ [metaKeys.workspaceId]: facts.workspaceId, [metaKeys.turnId]: facts.headTurnId }),
  };
}
