/** Finds what is well formed in a configuration and still cannot work. */
import { AptoveError } from "../../domain/errors.ts";
import { readS3Url } from "../../system/s3-url.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { callableProviders, providerFault } from "../../configuration/configured-providers.ts";
import { qdrantFault } from "../../configuration/configured-index.ts";
import { configuredMcpServers } from "../../configuration/mcp-servers.ts";
import type { CliInvocation } from "./invocation.ts";
import type { ProviderCheck } from "./ports.ts";

/** Returns what is wrong in single workspaces. A problem that the whole data folder has is left out (W7). */
export async function checkWorkspaces(invocation: CliInvocation): Promise<{ count: number; problems: string[] }> {
  const { env } = invocation.io;
  const everywhere = configurationProblems(invocation.loaded().configuration, env);
  const found = await (await invocation.workspaces()).store.list();
  const problems: string[] = [];
  for (const { id, name, damage } of found.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const own = damage === null ? await ownProblems(invocation, id) : [damage];
    const title = name === null ? id : `${id} (${name})`;
    problems.push(...own.filter((one) => !everywhere.includes(one)).map((one) => `workspace ${title}: ${one}`));
  }
  return { count: found.length, problems };
}

async function ownProblems(invocation: CliInvocation, id: string): Promise<string[]> {
  try {
    return configurationProblems((await invocation.loadedFor(id)).configuration, invocation.io.env);
  } catch (error) {
    if (error instanceof AptoveError) return [error.detail];
    throw error;
  }
}

/** Asks each provider that can be called for its models, all at once. Those without an address are left out. */
export async function providerReports(invocation: CliInvocation): Promise<(ProviderCheck & { name: string })[]> {
  const { configuration } = invocation.loadedOrNull() ?? {};
  if (configuration === undefined) return [];
  const reports = await Promise.all(
    callableProviders(configuration.providers).map(async (name) => {
      const check = await invocation.checkProvider(name);
      return check === null ? [] : [{ name, ...check }];
    }),
  );
  return reports.flat();
}

/** Returns what is wrong in a configuration that is well formed and still cannot work. */
export function configurationProblems(configuration: Configuration, env: CliInvocation["io"]["env"]): string[] {
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

/** Names the provider that answers by default, and the other providers that could answer. */
export function answering({ provider, providers }: Configuration): string {
  const others = callableProviders(providers).filter((name) => name !== provider);
  return others.length === 0 ? `${provider} answers` : `${provider} answers; ${others.join(", ")} could too`;
}
