/** What `session/new`, `load`, `resume` and `fork` have in common: folders and servers checked, the session opened (P1). */
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { McpServer as WireMcpServer } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/session.ts";
import type { McpServer } from "../../../tools/session-tools.ts";
import type { Client } from "../client/client.ts";
import { metaKeys, metaOf } from "../meta.ts";
import { OpenSession } from "./open-session.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { readMemory } from "./session-memory.ts";
import { SessionOptions } from "./session-options.ts";

/** The fields that all four requests have. */
export interface SetupRequest {
  cwd: string;
  additionalDirectories?: readonly string[] | null | undefined;
  mcpServers?: readonly WireMcpServer[] | null | undefined;
  _meta?: { [key: string]: unknown } | null | undefined;
}

export interface Setup {
  folders: [string, ...string[]];
  mcpServers: McpServer[];
  repo: string | null;
}

/** Throws `request_invalid` for folders that are not there and servers that cannot be reached from here. */
export async function checkSetup(
  { repositoryOf }: Pick<AcpPorts, "repositoryOf">,
  { cwd, additionalDirectories, mcpServers }: SetupRequest,
): Promise<Setup> {
  const others = additionalDirectories ?? [];
  await checkFolder("cwd", cwd);
  await Promise.all(others.map((folder) => checkFolder("additionalDirectories", folder)));
  const servers = (mcpServers ?? []).map(mcpServer);
  return { folders: [cwd, ...others], mcpServers: servers, repo: await repositoryOf(cwd) };
}

async function checkFolder(field: string, folder: string): Promise<void> {
  const said = `${field}: ${JSON.stringify(folder)}`;
  if (folder.includes("\u0000")) throw new AptoveError("request_invalid", `${said} has a NUL`);
  if (!isAbsolute(folder)) throw new AptoveError("request_invalid", `${said} is not an absolute path`);
  const found = await stat(folder).catch(() => null);
  if (found === null) throw new AptoveError("request_invalid", `${said} is not there`);
  if (!found.isDirectory()) throw new AptoveError("request_invalid", `${said} is not a folder`);
}

/** Throws `request_invalid` for a transport that was not offered. */
function mcpServer(server: WireMcpServer): McpServer {
  const { name } = server;
  if (!("type" in server)) {
    const { command, args, env } = server;
    return { type: "stdio", name, command, args, env: record(env) };
  }
  if (server.type !== "http") {
    const detail = `the MCP server "${name}" has the transport "${server.type}"; stdio and http are taken`;
    throw new AptoveError("request_invalid", detail);
  }
  return { type: "http", name, url: server.url, headers: record(server.headers) };
}

function record(entries: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

/**
 * The device that asks, or null. A connection that belongs to a device is that device's, whatever a request says (P2).
 * Throws `forbidden` where the request names another one.
 */
export function deviceOf({ deviceId }: Pick<AcpPorts, "deviceId">, meta: SetupRequest["_meta"]): string | null {
  const named = meta?.[metaKeys.deviceId];
  if (named === undefined || named === null || named === "") return deviceId;
  if (typeof named !== "string") throw new AptoveError("request_invalid", "the device id is not a text");
  if (deviceId === null || named === deviceId) return named;
  throw new AptoveError("forbidden", "this connection belongs to another device; open one of your own");
}

/** The workspace that counts for a session; a session may carry a label that is none of ours. */
async function workspaceOf(
  { ports, opened }: { ports: AcpPorts; opened: OpenedPorts },
  session: Pick<Session, "workspaceId">,
): Promise<string> {
  const { workspaces } = opened;
  if (session.workspaceId !== null && (await workspaces.exists(session.workspaceId))) return session.workspaceId;
  return ports.deviceId === null ? await workspaces.standard() : await workspaces.ofDevice(ports.deviceId);
}

/** A device sees the sessions of its own workspace and no others, whatever ids it guesses (W2). Throws `not_found`. */
export async function visibleSession(
  { ports, opened }: { ports: AcpPorts; opened: OpenedPorts },
  sessionId: string,
): Promise<Session> {
  const session = await opened.engine.sessions.get(opened.caller, sessionId);
  const own = ports.deviceId === null ? session.workspaceId : await opened.workspaces.ofDevice(ports.deviceId);
  if (session.workspaceId === own) return session;
  throw new AptoveError("not_found", `there is no session ${JSON.stringify(sessionId)}`);
}

export interface Opening {
  ports: AcpPorts;
  opened: OpenedPorts;
  client: Client;
}

/** `mode`: of a session that was never set to one. */
export async function openSession(
  opening: Opening,
  session: Session,
  { setup, mode }: { setup: Setup; mode: string | null },
): Promise<OpenSession> {
  const workspaceId = await workspaceOf(opening, session);
  const choices = await opening.opened.workspaces.choices(workspaceId);
  const remembered = readMemory(session);
  const options = await SessionOptions.of(session, choices, { ...remembered, mode: remembered.mode ?? mode });
  const facts = {
    id: session.id,
    workspaceId,
    folders: setup.folders,
    options,
    name: session.name,
    repo: setup.repo ?? session.repo,
    // A fork that has no turn of its own yet goes on from where it was forked.
    headTurnId: session.headTurnId ?? session.originTurnId,
  };
  return new OpenSession(facts, { ...opening, mcpServers: setup.mcpServers });
}

/** What the answers have in common: what the session can be set to, and where it is. */
export function setupAnswer({ facts }: OpenSession) {
  const modes = facts.options.modes();
  return {
    ...(modes !== null && { modes }),
    configOptions: facts.options.list(),
    ...metaOf({ [metaKeys.workspaceId]: facts.workspaceId, [metaKeys.turnId]: facts.headTurnId }),
  };
}
