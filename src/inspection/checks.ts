/**
 * The checks that `aptove doctor` and a running server have in common. Each looks at one part, changes nothing, and says how to fix
 * what it finds. None names a secret (E8).
 */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Configuration } from "../configuration/configuration.ts";
import { callableProviders, keyedProviders } from "../configuration/configured-providers.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import type { Check } from "../domain/check.ts";
import { fixes } from "../domain/fixes.ts";
import { headCommit } from "../system/git/git-head.ts";
import { plural } from "../system/grouped-number.ts";
import { systemCode } from "../system/system-error.ts";
import { answering, configurationProblems } from "./configuration-problems.ts";
import type { WorkspaceProblems } from "./workspace-problems.ts";

/** The oldest Node that runs the sources of the program directly. */
const nodeMajorMin = 26;

export function nodeCheck(): Check {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= nodeMajorMin) return { name: "node", state: "ok", detail: node };
  const fix = "start aptove with npm start or npx aptove: they install the right version";
  return { name: "node", state: "failed", detail: `${node} is too old`, fix };
}

export function folderCheck(dir: string): Check {
  const name = "data folder";
  if (!existsSync(dir)) return missingFolderCheck(dir);
  const found = statSync(dir);
  if (!found.isDirectory())
    return { name, state: "failed", detail: `${dir} is a file`, fix: "set APTOVE_DATA_DIR to a folder" };
  const fault = accessFault(dir);
  if (fault !== null) return { name, state: "failed", detail: `${dir} cannot be used: ${fault}`, fix: permissionFix };
  const isPrivate = process.platform === "win32" || (found.mode & 0o077) === 0;
  if (isPrivate) return { name, state: "ok", detail: dir };
  const detail = `${dir} can be read by other users`;
  return { name, state: "note", detail, fix: `chmod 700 "${dir}"` };
}

const permissionFix = "give yourself permission to read and write it, or set APTOVE_DATA_DIR to another folder";

/** The first turn creates the folder, if the nearest folder above it can be written. */
function missingFolderCheck(dir: string): Check {
  let above = dirname(resolve(dir));
  while (!existsSync(above) && above !== dirname(above)) above = dirname(above);
  const fault = accessFault(above);
  if (fault === null)
    return { name: "data folder", state: "note", detail: `${dir} does not exist yet; the first turn creates it` };
  const detail = `${dir} does not exist, and cannot be created, because ${above} cannot be used: ${fault}`;
  return { name: "data folder", state: "failed", detail, fix: permissionFix };
}

/** Returns why the folder cannot be read and written, as the system names it. Null if it can. */
function accessFault(dir: string): string | null {
  try {
    if (!statSync(dir).isDirectory()) return "it is a file";
    accessSync(dir, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    return systemCode(error);
  }
}

export function configurationCheck(
  configuration: Configuration,
  env: Readonly<Record<string, string | undefined>>,
): Check {
  const [problem] = configurationProblems(configuration, env);
  const fix = "correct it; all faults are in: aptove config check";
  if (problem !== undefined) return { name: "configuration", state: "failed", detail: problem, fix };
  if (configuration.provider !== "offline") {
    return { name: "configuration", state: "ok", detail: answering(configuration) };
  }
  const detail = "the built-in offline model answers";
  const keys = Object.values(keyedProviders).map(({ keyVariables: [variable] }) => variable);
  return { name: "configuration", state: "note", detail, fix: `for a real model set one of ${keys.join(", ")}` };
}

/** The answer of a provider to the cheapest call that there is. `isUnsure`: it does not say whether the key is valid. */
export interface ProviderAnswer {
  fault: string | null;
  fix: string | null;
  isUnsure: boolean;
}

export function providerCheck(provider: string, { fault, fix, isUnsure }: ProviderAnswer): Check {
  const name = `provider ${provider}`;
  if (fault !== null) return { name, state: "failed", detail: fault, ...(fix !== null && { fix }) };
  if (!isUnsure) return { name, state: "ok", detail: "answers and accepts the key" };
  return { name, state: "note", detail: "answers, but has no list of models, so its key is not checked" };
}

/** Asks each provider that can be called, all at once. `ask` returns null for one without an address. */
export async function askProviders(
  { providers }: Configuration,
  ask: (name: string) => Promise<ProviderAnswer | null>,
): Promise<(ProviderAnswer & { name: string })[]> {
  const answers = callableProviders(providers).map(async (name) => {
    const found = await ask(name);
    return found === null ? [] : [{ name, ...found }];
  });
  return (await Promise.all(answers)).flat();
}

/** Workspaces are files, so servers that share their records in PostgreSQL do not share them, unless they use one data folder (W1). */
export function workspacesCheck(
  { count, problems }: WorkspaceProblems,
  {
    configuration: { records },
    folder,
  }: { configuration: { records: Pick<Configuration["records"], "url"> }; folder: Pick<DataFolder, "workspaces"> },
): Check {
  const [problem, ...more] = problems;
  if (problem === undefined && records.url !== null && count > 0) {
    const detail = `${count}, as files in ${folder.workspaces}; a server with another data folder does not have them`;
    const fix = "if there are several servers, let all of them use one data folder, and back it up: docs/team.md";
    return { name: "workspaces", state: "note", detail, fix };
  }
  if (problem === undefined) return { name: "workspaces", state: "ok", detail: String(count) };
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  const fix = "see all of them: aptove config check";
  return { name: "workspaces", state: "failed", detail: `${problem}${others}`, fix };
}

export interface StoresFound {
  records: "ok" | "failed";
  blobs: "ok" | "failed";
  log: "ok" | "failed";
  /** The address of the bucket. Null: the blobs are in the data folder, or it is not known. */
  bucket: string | null;
}

export function storesCheck({ records, blobs, log, bucket }: StoresFound): Check {
  const detail = `records ${records}, blobs ${blobs}${bucket === null ? "" : ` in ${bucket}`}, live log ${log}`;
  if (records === "ok" && blobs === "ok" && log === "ok") return { name: "stores", state: "ok", detail };
  return { name: "stores", state: "failed", detail, fix: fixes.storage_failed };
}

/** The product of the records, and the versions of its data: of what is stored, of the oldest program, and of this one. */
export interface RecordsFound {
  product: string;
  version: number;
  oldest: number;
  known: number;
}

/** Reports which programs can use the data. An upgrade of several servers depends on it. */
export function recordsCheck({ product, version, oldest, known }: RecordsFound): Check {
  const used = oldest === version ? "" : `, for programs from version ${oldest} on`;
  const detail = `${product}, data of version ${version}${used}`;
  if (version === known) return { name: "records", state: "ok", detail };
  const fix = "it can be used; install the newer aptove here too";
  return { name: "records", state: "note", detail: `${detail}; this program writes version ${known}`, fix };
}

/** Checks how the events of running turns are distributed. If Redis does not answer, the records distribute them. */
export async function liveCheck(
  { records, live }: Pick<Configuration, "records" | "live">,
  redisFault: (url: string) => Promise<string | null>,
): Promise<Check> {
  const behind = records.url === null ? "in files" : "in PostgreSQL";
  if (live.redis === null) return { name: "live log", state: "ok", detail: behind };
  const { host } = new URL(live.redis);
  const fault = await redisFault(live.redis);
  if (fault === null) return { name: "live log", state: "ok", detail: `in Redis at ${host}, behind it ${behind}` };
  const detail = `${behind}, for Redis at ${host} cannot be used: ${fault}`;
  const fix = "check that Redis runs, and the address in live.redis: aptove config show";
  return { name: "live log", state: "note", detail, fix };
}

export interface IndexFound {
  repo: string;
  /** The folder whose commit the index should have. */
  root: string;
  commit: string | null;
  files: number;
  chunks: number;
  embedding: { model: string };
}

/** Compares an index with the folder that it is made from. */
export async function indexCheck(
  { repo, root, commit, files, chunks, embedding }: IndexFound,
  { qdrant, store }: Configuration["retrieval"],
): Promise<Omit<Check, "name">> {
  const isShared = store === "qdrant";
  const where = isShared ? ` in Qdrant at ${qdrant.url ?? "no address"}` : "";
  const detail = `${repo}: ${plural(files, "file")}, ${plural(chunks, "chunk")}, ${embedding.model}${where}`;
  if (commit === (await headCommit(root))) return { state: "ok", detail };
  const fix = `bring it up to date: aptove index${isShared ? " --commit" : ""}`;
  return { state: "note", detail: `${detail}; made at another commit`, fix };
}
