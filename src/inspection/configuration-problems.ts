/** Finds what is well formed in a configuration and still cannot work. */
import { readS3Url } from "../system/addresses/s3-url.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { callableProviders, providerFault } from "../configuration/configured-providers.ts";
import { qdrantFault } from "../configuration/configured-index.ts";
import { configuredMcpServers } from "../configuration/mcp-servers.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns what is wrong in a configuration that is well formed and still cannot work. */
export function configurationProblems(configuration: Configuration, env: Environment): string[] {
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
