/**
 * Sessions for other agents, over the Model Context Protocol (O7): tools that search, read, ask, continue, fork and compare,
 * and each session as a resource. Everything goes through the typed client, so the rights are those of its key.
 */
import { McpServer } from "@modelcontextprotocol/server";
import type { AptoveClient } from "../../client/client.ts";
import { addReadingTools } from "./reading-tools.ts";
import { addRunningTools } from "./running-tools.ts";
import { addSessionResources } from "./session-resources.ts";

const instructions = `Sessions of aptove: threads of turns between people and language models about code, which never expire.
Search for earlier work with search_sessions before you ask again. A session is read in pages of turns, the newest first.
fork_session tries another way from any finished turn and leaves the session as it is.`;

/** Makes a server. It needs no connection of its own, so one can be made for each request. */
export function sessionServer(client: AptoveClient, version: string): McpServer {
  const server = new McpServer({ name: "aptove", title: "aptove sessions", version }, { instructions });
  addReadingTools(server, client);
  addRunningTools(server, client);
  addSessionResources(server, client);
  return server;
}
