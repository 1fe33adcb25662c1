/** What a running server checks about itself (L1): the checks of `aptove doctor`, on the parts that this process has open. */
import { existsSync } from "node:fs";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { callableProviders } from "../../configuration/configured-providers.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { localOrgId } from "../../domain/caller.ts";
import type { Check } from "../../domain/check.ts";
import { fixes } from "../../domain/fixes.ts";
import { newId } from "../../domain/ids.ts";
import type { Inspection } from "../../engine/dependencies.ts";
import {
  configurationCheck,
  folderCheck,
  indexCheck,
  liveCheck,
  nodeCheck,
  providerCheck,
  recordsCheck,
  workspacesCheck,
} from "../../inspection/checks.ts";
import { workspaceProblems } from "../../inspection/workspace-problems.ts";
import type { EventLog } from "../../live/event-log.ts";
import type { RecordStore } from "../../records/record-store.ts";
import type { Retriever } from "../../retrieval/retriever.ts";
import { plural } from "../../system/grouped-number.ts";
import type { OpenedWorkspaces } from "../../workspace/opened-workspaces.ts";
import type { ConfiguredWorkspaces } from "../configured-workspaces.ts";
import type { Telemetry } from "../telemetry.ts";

export interface InspectedServer {
  configuration: Configuration;
  folder: DataFolder;
  env: Readonly<Record<string, string | undefined>>;
  records: RecordStore;
  blobs: BlobStore;
  log: EventLog;
  retriever: Retriever | undefined;
  workspaces(): Promise<OpenedWorkspaces>;
  configured: ConfiguredWorkspaces;
  redact: Telemetry["redact"];
}

export function serverInspections(server: InspectedServer): Inspection[] {
  const { configuration, folder, env, redact } = server;
  const network = "check the network and base_url: aptove config show";
  const parts: Inspection[] = [
    { name: "node", look: async () => nodeCheck() },
    { name: "data folder", look: async () => folderCheck(folder.dir) },
    { name: "configuration", look: async () => configurationCheck(configuration, env) },
    ...callableProviders(configuration.providers).map((name) => ({
      name: `provider ${name}`,
      ifLate: network,
      look: async () => await lookAtProvider(configuration, name),
    })),
    { name: "workspaces", look: async () => await lookAtWorkspaces(server) },
    { name: "records", ifLate: fixes.storage_failed, look: async () => await lookAtRecords(server) },
    { name: "blobs", ifLate: fixes.storage_failed, look: async () => await lookAtBlobs(server) },
    { name: "live log", ifLate: fixes.storage_failed, look: async () => await lookAtLog(server) },
    { name: "indexes", ifLate: fixes.retrieval_failed, look: async () => await lookAtIndexes(server) },
  ];
  return parts.map(({ look, ...part }) => ({ ...part, look: async () => redacted(redact, look) }));
}

type Found = Omit<Check, "name">;

/** No answer names a secret, whatever a store or a provider put into its error (E8). */
async function redacted(redact: Telemetry["redact"], look: () => Promise<Found>): Promise<Found> {
  try {
    const { detail, ...found } = await look();
    return { ...found, detail: redact(detail) };
  } catch (error) {
    if (error instanceof Error) error.message = redact(error.message);
    throw error;
  }
}

async function lookAtProvider({ providers }: Configuration, name: string): Promise<Found> {
  const { checkProvider } = await import("./check-providers.ts");
  const answer = await checkProvider(providers, name);
  return answer === null ? { state: "ok", detail: "has no address to check" } : providerCheck(name, answer);
}

async function lookAtWorkspaces({
  configuration,
  folder,
  env,
  configured,
  workspaces,
}: InspectedServer): Promise<Found> {
  const { store } = await workspaces();
  const found = await workspaceProblems({
    env,
    shared: configuration,
    list: () => store.list(),
    configurationOf: async (id) => (await configured(id))?.configuration ?? configuration,
  });
  return workspacesCheck(found, { configuration, folder });
}

async function lookAtRecords({ records }: InspectedServer): Promise<Found> {
  // What the store says about itself may be kept from its start, and a store that is full or broken may still be read.
  await records.storage.probe();
  return recordsCheck(await records.storage.about());
}

async function lookAtBlobs({ blobs, configuration }: InspectedServer): Promise<Found> {
  await blobs.get("turns/none");
  const { url } = configuration.blobs;
  return { state: "ok", detail: url === null ? "in the data folder" : `in ${url}` };
}

async function lookAtLog({ log, configuration }: InspectedServer): Promise<Found> {
  await log.read(newId(), 0);
  return await liveCheck(configuration, async (url) => (await import("../open-live.ts")).findRedisFault(url));
}

async function lookAtIndexes({ retriever, configuration }: InspectedServer): Promise<Found> {
  const indexes = (await retriever?.list(localOrgId)) ?? [];
  if (indexes.length === 0)
    return { state: "note", detail: "no repository is indexed", fix: "in its folder: aptove index" };
  const found = await Promise.all(
    indexes.map(async (index): Promise<Found> => {
      const isHere = index.root !== "" && existsSync(index.root);
      if (isHere) return await indexCheck(index, configuration.retrieval);
      const detail = `${index.repo}: ${plural(index.files, "file")}; its folder is not on this machine, so it stays as it is`;
      return { state: retriever?.refresh === undefined ? "ok" : "note", detail };
    }),
  );
  const fix = found.find((one) => one.fix !== undefined)?.fix;
  const state = found.some((one) => one.state === "note") ? "note" : "ok";
  return { state, detail: found.map(({ detail }) => detail).join("; "), ...(fix !== undefined && { fix }) };
}
