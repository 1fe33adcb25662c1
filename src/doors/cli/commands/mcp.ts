/** `aptove mcp list | test`: the MCP servers that a session would use here (P5). */
import type { LoadedConfiguration } from "../../../configuration/configuration.ts";
import { maskArguments, maskSecret } from "../../../system/mask-secret.ts";
import { configuredMcpServers, type McpServerSettings } from "../../../configuration/mcp-servers.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import { findWorkspace } from "../lookup/find-by-id.ts";
import { duration } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import type { McpServerReport } from "../ports.ts";
import { listenForStop, StoppedAtOnce } from "../stop-signals.ts";

export interface McpOptions {
  /** The id of the workspace whose servers are used. */
  workspace?: string;
}

export async function listMcpServers(invocation: CliInvocation, options: McpOptions): Promise<ExitCode> {
  const { loaded, workspaceId } = await loadedFor(invocation, options);
  const { output } = invocation;
  const servers = loaded.configuration.mcpServers.map((settings) => described(settings, loaded, invocation));
  if (invocation.json) {
    output.json({ workspace: workspaceId, servers });
    return exitCodes.fine;
  }
  if (servers.length === 0) sayNone(invocation);
  const rows = servers.map(({ name, place, layer, source, state }) => [name, place, state, layer, source]);
  output.table(rows);
  return exitCodes.fine;
}

export async function testMcpServers(
  invocation: CliInvocation,
  name: string | undefined,
  options: McpOptions,
): Promise<ExitCode> {
  const { loaded, workspaceId } = await loadedFor(invocation, options);
  const reports = await reportsOf(invocation, wanted(loaded, name), workspaceId);
  if (reports === null) return exitCodes.interrupted;
  const { output } = invocation;
  if (invocation.json) output.json({ workspace: workspaceId, servers: reports });
  else if (reports.length === 0) sayNone(invocation);
  else for (const line of reportLines(invocation, reports)) output.line(line);
  return reports.every(({ failure }) => failure === null) ? exitCodes.fine : exitCodes.failed;
}

async function loadedFor(
  invocation: CliInvocation,
  { workspace }: McpOptions,
): Promise<{ loaded: LoadedConfiguration; workspaceId: string | null }> {
  const known = await (await invocation.workspaces()).store.list();
  // Chats and editors use this workspace. It does not exist before the first of them.
  const isDefault = workspace === undefined;
  if (isDefault && known.every(({ id }) => id !== defaultWorkspaceId))
    return { loaded: invocation.loaded(), workspaceId: null };
  const { id } = isDefault ? { id: defaultWorkspaceId } : findWorkspace(known, workspace);
  return { loaded: await invocation.loadedFor(id), workspaceId: id };
}

/** Serves the sessions of this machine, or of `--server`, to another agent on standard input and output (O7). */
export async function serveSessions(invocation: CliInvocation): Promise<ExitCode> {
  const { io, output } = invocation;
  if (io.stdin.isTTY === true) {
    output.note("waiting for an MCP client on standard input (Ctrl-C ends this); for a person: aptove chat");
  }
  const stopping = listenForStop(io.signals);
  try {
    await Promise.race([invocation.serveMcp(stopping.first), stopping.second]);
    return exitCodes.fine;
  } finally {
    stopping.release();
  }
}

interface DescribedServer {
  name: string;
  type: "stdio" | "http";
  /** Returns the command line or the address of a server, without secrets. */
  place: string;
  state: "on" | "off" | "incomplete";
  /** The layer of the configuration that names the server. */
  layer: string;
  source: string;
}

function described(
  settings: McpServerSettings,
  loaded: LoadedConfiguration,
  invocation: CliInvocation,
): DescribedServer {
  const { id, command, args, url, enabled } = settings;
  const isIncomplete = faultOf(settings, loaded, invocation) !== null;
  const { layer = "built-in", place = "" } =
    loaded.sources.get(`mcp_servers.${id}.${url === null ? "command" : "url"}`) ?? {};
  return {
    name: id,
    type: url === null ? "stdio" : "http",
    place: url === null ? [command, ...maskArguments(args)].join(" ") : maskSecret(url),
    state: !enabled ? "off" : isIncomplete ? "incomplete" : "on",
    layer,
    source: place,
  };
}

/** Returns why the environment does not allow the server to start. Null if it does. */
function faultOf(
  settings: McpServerSettings,
  { configuration }: LoadedConfiguration,
  invocation: CliInvocation,
): string | null {
  const alone = { ...configuration, mcpServers: [settings] };
  return configuredMcpServers(alone, invocation.io.env).faults[0] ?? null;
}

function wanted(loaded: LoadedConfiguration, name: string | undefined): LoadedConfiguration {
  const { mcpServers } = loaded.configuration;
  // A server that is named is tested even if it is turned off.
  const named = mcpServers.filter(({ id }) => id === name).map((settings) => ({ ...settings, enabled: true }));
  if (name !== undefined && named.length === 0) {
    throw new CommandFailed("not_found", `there is no MCP server ${JSON.stringify(name)}`, "see: aptove mcp list");
  }
  return { ...loaded, configuration: { ...loaded.configuration, mcpServers: name === undefined ? mcpServers : named } };
}

/**
 * Returns the reports in the order of the configuration. Servers that are turned off have none. Null if the person
 * stopped the test.
 */
async function reportsOf(
  invocation: CliInvocation,
  loaded: LoadedConfiguration,
  workspaceId: string | null,
): Promise<McpServerReport[] | null> {
  const { servers } = configuredMcpServers(loaded.configuration, invocation.io.env);
  const stopping = listenForStop(invocation.io.signals);
  const logs = workspaceId === null ? null : { folder: invocation.folder(), workspaceId };
  const checked = invocation.checkMcpServers({ servers, folders: [invocation.io.cwd], logs, stop: stopping.first });
  let reports: McpServerReport[];
  try {
    reports = await Promise.race([checked, stopping.second]);
  } catch (error) {
    if (stopping.first.aborted && !(error instanceof StoppedAtOnce)) return null;
    throw error;
  } finally {
    stopping.release();
  }
  return loaded.configuration.mcpServers
    .filter(({ enabled }) => enabled)
    .map((settings) => reports.find(({ name }) => name === settings.id) ?? notStarted(settings, loaded, invocation));
}

function notStarted(
  settings: McpServerSettings,
  loaded: LoadedConfiguration,
  invocation: CliInvocation,
): McpServerReport {
  const fault = faultOf(settings, loaded, invocation) ?? "was not started";
  const failure = fault.replace(/^the MCP server ".*?" /, "");
  return { name: settings.id, version: null, protocol: null, tools: [], failure, faults: [], startedInMs: null };
}

function reportLines({ output }: CliInvocation, reports: readonly McpServerReport[]): string[] {
  const { green, red, dim } = output.style;
  const nameCells = Math.max(0, ...reports.map(({ name }) => name.length));
  return reports.flatMap(({ name: id, version, protocol, tools, failure, faults, startedInMs }) => {
    const name = `${output.safe(id).padEnd(nameCells)}  `;
    if (failure !== null) return [`${red("!!")} ${name}${output.safe(failure)}`];
    const facts = [version ?? "", `MCP ${protocol}`, plural(tools.length, "tool"), duration(startedInMs ?? 0)];
    return [
      `${green("ok")} ${name}${output.safe(facts.filter((fact) => fact !== "").join(", "))}`,
      ...tools.map((tool) => `   ${output.safe(tool)}`),
      ...faults.map((fault) => dim(`   ${output.safe(fault)}`)),
    ];
  });
}

function sayNone({ output }: CliInvocation): void {
  output.note("no MCP server is configured; name one in config.toml: [mcp_servers.<name>]");
}
