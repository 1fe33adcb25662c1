/**
 * Collects the tools of a session: files, commands, and the MCP servers of the configuration and of the session (P5).
 * No tool sees a key of a provider or reads the data folder.
 */
import type { Tool } from "../tools/tool.ts";
import type { McpServer, OpenSessionTools, SessionToolsRequest } from "../tools/session-tools.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { configuredMcpServers } from "../configuration/mcp-servers.ts";
import { isWorkspaceContent, workspacePaths } from "../workspace/files/workspace-paths.ts";
import { configuredSecrets } from "./configured-secrets.ts";
import type { ConfiguredWorkspaces } from "./configured-workspaces.ts";

export interface SessionToolsParts {
  configuration: Configuration;
  configured: ConfiguredWorkspaces;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
}

export function sessionToolsOpener(parts: SessionToolsParts): OpenSessionTools {
  return async (request) => {
    const { workspaceId } = request;
    const own = workspaceId === null ? null : await parts.configured(workspaceId);
    const configuration = own?.configuration ?? parts.configuration;
    const ended = new AbortController();
    const { servers, faults } = configuredMcpServers(configuration, parts.env);
    const [builtIn, mcp] = await Promise.all([
      builtInTools(parts, { request, configuration, until: ended.signal }),
      mcpTools(parts, request, withSessionServers(servers, request.mcpServers)),
    ]);
    return {
      tools: async () => [...builtIn, ...((await mcp?.tools()) ?? [])],
      warnings: () => [...faults, ...(mcp?.warnings() ?? [])],
      close: async () => {
        ended.abort();
        await mcp?.close();
      },
    };
  };
}

interface BuiltInToolsRequest {
  request: SessionToolsRequest;
  configuration: Configuration;
  until: AbortSignal;
}

async function builtInTools(
  { folder, env, configuration: global }: SessionToolsParts,
  { request, configuration, until }: BuiltInToolsRequest,
): Promise<Tool[]> {
  const [{ fileTools }, { commandTool }, { planTool }] = await Promise.all([
    import("../tools/files/file-tools.ts"),
    import("../tools/command/command-tool.ts"),
    import("../tools/plan/plan-tool.ts"),
  ]);
  const { folders, repositories, files, commands } = request;
  const closed = [{ folder: folder.dir, opens: isWorkspaceContent }];
  const where = { folders, closed, ...(repositories !== undefined && { repositories }) };
  return [
    ...fileTools({ ...where, ...(files !== undefined && { files }) }),
    commandTool({
      ...where,
      until,
      local: { env, ...secretsOf([global, configuration], env) },
      ...(commands !== undefined && { commands }),
    }),
    planTool(),
  ];
}

/** Returns what no command may see, beside variables whose names look secret. A key that the workspace replaces is included. */
function secretsOf(
  configurations: readonly Configuration[],
  env: SessionToolsParts["env"],
): { secretNames: string[]; secretValues: string[] } {
  const secrets = configurations.map(configuredSecrets);
  const secretNames = secrets.flatMap(({ names }) => names);
  const addresses = configurations.flatMap(({ records, live }) => [records.url ?? [], live.redis ?? []].flat());
  const named = secretNames.flatMap((name) => env[name]?.trim() ?? []);
  return { secretNames, secretValues: [...secrets.flatMap(({ values }) => values), ...named, ...addresses] };
}

/** Returns the servers in the order of the configuration. A server of the session replaces a configured one with its name. */
function withSessionServers(configured: readonly McpServer[], own: readonly McpServer[]): McpServer[] {
  const named = new Map(own.map((server) => [server.name, server]));
  const replaced = configured.map((server) => named.get(server.name) ?? server);
  return [...replaced, ...own.filter((server) => !replaced.includes(server))];
}

async function mcpTools(
  { folder, env, version }: SessionToolsParts,
  { folders, workspaceId }: SessionToolsRequest,
  servers: readonly McpServer[],
) {
  if (servers.length === 0) return null;
  const { openMcpTools } = await import("../tools/mcp/open-mcp-tools.ts");
  const logFolder = workspaceId === null ? null : workspacePaths(folder, workspaceId).mcp;
  return openMcpTools({ servers, logFolder, folders, env, version });
}
