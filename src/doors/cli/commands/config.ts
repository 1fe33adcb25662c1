/** `aptove config init | show | check` (W7). */
import { existsSync } from "node:fs";
import { AptoveError } from "../../../domain/errors.ts";
import { writePrivateFile } from "../../../system/durable-files.ts";
import { readS3Url } from "../../../system/s3-url.ts";
import { starterConfig, effectiveValues } from "../../../configuration/config-text.ts";
import type { Configuration, LoadedConfiguration } from "../../../configuration/configuration.ts";
import { callableProviders, providerFault } from "../../../configuration/configured-providers.ts";
import { qdrantFault } from "../../../configuration/configured-index.ts";
import { configuredMcpServers } from "../../../configuration/mcp-servers.ts";
import type { Call } from "../call.ts";
import { CommandFailed, exitCodes } from "../failure.ts";
import type { ExitCode } from "../failure.ts";
import { findWorkspace } from "../find-by-id.ts";
import { columns, plural } from "../output.ts";

export function initConfig(call: Call, options: { force?: boolean }): ExitCode {
  const file = call.folder().config;
  if (existsSync(file) && options.force !== true) {
    throw new CommandFailed("config_exists", `${file} exists already`, "edit it, or overwrite it with --force");
  }
  writePrivateFile(file, starterConfig());
  if (call.json) call.output.json({ file });
  else call.output.line(`wrote ${file}; every key in it is commented out`);
  return exitCodes.fine;
}

export interface ConfigOptions {
  /** Id of the workspace whose configuration is meant. */
  workspace?: string;
}

export async function showConfig(call: Call, options: ConfigOptions): Promise<ExitCode> {
  const loaded = await loadedFor(call, options);
  const values = effectiveValues(loaded);
  const { output } = call;
  if (call.json) {
    output.json({ file: call.folder().config, workspace: options.workspace ?? null, values });
    return exitCodes.fine;
  }
  const shown = values.filter(({ value }) => value !== null);
  const rows = shown.map(({ key, value, layer, source }) => {
    return [`${key} = ${shorten(value ?? "")}`, layer, layer === "built-in" ? "" : source];
  });
  for (const line of columns(rows)) output.line(output.safe(line.trimEnd()));
  return exitCodes.fine;
}

async function loadedFor(call: Call, { workspace }: ConfigOptions): Promise<LoadedConfiguration> {
  if (workspace === undefined) return call.loaded();
  const { id } = findWorkspace(await (await call.workspaces()).store.list(), workspace);
  const loaded = await call.loadedFor(id);
  for (const warning of loaded.warnings) call.output.note(`warning: ${warning}`);
  return loaded;
}

function shorten(value: string): string {
  return value.length <= 60 ? value : `${value.slice(0, 59)}…`;
}

/** Of a workspace, or of the data folder with all of its workspaces. */
export async function checkConfig(call: Call, options: ConfigOptions): Promise<ExitCode> {
  const { configuration, warnings } = await loadedFor(call, options);
  const problems = configurationProblems(configuration, call.io.env);
  const others = options.workspace === undefined ? await checkWorkspaces(call) : { count: 0, problems: [] };
  problems.push(...others.problems);
  const { output } = call;
  const file = call.folder().config;
  const hasFile = existsSync(file);
  if (call.json) {
    output.json({ file, hasFile, workspace: options.workspace ?? null, warnings, problems });
  } else {
    for (const problem of problems) output.note(`${output.noteStyle.red("problem:")} ${output.safeNote(problem)}`);
    const fine =
      options.workspace === undefined
        ? fineText(file, hasFile, others.count)
        : `workspace ${options.workspace} is fine`;
    if (problems.length === 0) output.line(`${fine}; ${answering(configuration)}`);
  }
  return problems.length === 0 ? exitCodes.fine : exitCodes.failed;
}

function fineText(file: string, hasFile: boolean, count: number): string {
  const workspaces = plural(count, "workspace");
  const are = count === 1 ? "is" : "are";
  if (hasFile) return `${file} is fine${count === 0 ? "" : `, and so ${are} ${workspaces}`}`;
  const built = `there is no ${file} (aptove config init writes one), so the built-in values and the environment count`;
  return count === 0 ? built : `${built}; ${workspaces} ${are} fine`;
}

/** What is wrong with each workspace, and not with all of them (W7). */
export async function checkWorkspaces(call: Call): Promise<{ count: number; problems: string[] }> {
  const { env } = call.io;
  const everywhere = configurationProblems(call.loaded().configuration, env);
  const found = await (await call.workspaces()).store.list();
  const problems: string[] = [];
  for (const { id, name, damage } of found.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const own = damage === null ? await ownProblems(call, id) : [damage];
    const title = name === null ? id : `${id} (${name})`;
    problems.push(...own.filter((one) => !everywhere.includes(one)).map((one) => `workspace ${title}: ${one}`));
  }
  return { count: found.length, problems };
}

async function ownProblems(call: Call, id: string): Promise<string[]> {
  try {
    return configurationProblems((await call.loadedFor(id)).configuration, call.io.env);
  } catch (error) {
    if (error instanceof AptoveError) return [error.detail];
    throw error;
  }
}

/** What is well formed, and yet cannot work. */
export function configurationProblems(configuration: Configuration, env: Call["io"]["env"]): string[] {
  const { providers, retrieval, agentContexts } = configuration;
  const problems = agentContexts.flatMap(({ id, provider }) => {
    const fault = providerFault(providers, provider);
    return fault === null ? [] : [`the agent context "${id}" uses ${provider}, which ${fault}`];
  });
  const used = new Set(agentContexts.map(({ provider }) => provider));
  for (const { id } of providers.compatible) {
    const fault = used.has(id) ? null : providerFault(providers, id);
    if (fault !== null) problems.push(`the provider ${id} ${fault}`);
  }
  const embedding = retrieval.embedding === "openai" ? providerFault(providers, "openai") : null;
  if (embedding !== null) problems.push(`retrieval.embedding is openai, which ${embedding}`);
  const stores = new Set([retrieval.store, ...agentContexts.map(({ index }) => index)]);
  const qdrant = stores.has("qdrant") ? qdrantFault(retrieval.qdrant, env) : null;
  if (qdrant !== null) problems.push(`the index store qdrant ${qdrant}`);
  const blobs = blobsFault(configuration.blobs.url);
  if (blobs !== null) problems.push(blobs);
  return [...problems, ...configuredMcpServers(configuration, env).faults];
}

function blobsFault(url: string | null): string | null {
  const address = url === null ? null : readS3Url(url);
  return address !== null && "fault" in address ? `blobs.url: ${address.fault}` : null;
}

/** The default's name, and those that could answer as well. */
export function answering({ provider, providers }: Configuration): string {
  const others = callableProviders(providers).filter((name) => name !== provider);
  return others.length === 0 ? `${provider} answers` : `${provider} answers; ${others.join(", ")} could too`;
}
