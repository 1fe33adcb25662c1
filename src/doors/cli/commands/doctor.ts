/** `aptove doctor`: checks what works here, and names the fix for each fault (L1). */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { keyedProviders } from "../../../configuration/configured-providers.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, UsageError, writeFailure, type ExitCode } from "../failure.ts";
import { fixes } from "../fixes.ts";
import { headCommit } from "../../../system/git-head.ts";
import { plural } from "../output.ts";
import { findServer } from "../server-file.ts";
import { answering, checkWorkspaces, configurationProblems, providerReports } from "../configuration-problems.ts";

interface Check {
  name: string;
  state: "ok" | "note" | "failed";
  detail: string;
  fix?: string;
}

/** Runs a check and adds what it found, or its failure. */
type RunCheck = (name: string, check: () => Promise<Check> | Check) => Promise<void>;

/** The oldest Node that runs the sources of the program directly. */
const nodeMajorMin = 26;

export async function doctor(
  invocation: CliInvocation,
  ids: readonly string[],
  { deep = false }: { deep?: boolean } = {},
): Promise<ExitCode> {
  if (ids.length > 0)
    throw new UsageError("doctor takes the ids of sessions only with --attach", "aptove doctor --attach <id>");
  const checks: Check[] = [];
  invocation.inspectOnly();
  const run: RunCheck = async (name, check) => {
    try {
      checks.push(await check());
    } catch (error) {
      checks.push(failed(name, error, checks));
    }
  };
  await run("node", checkNode);
  await run("data folder", () => checkFolder(invocation));
  await run("configuration", () => checkConfiguration(invocation));
  for (const check of await checkProviders(invocation)) checks.push(check);
  await run("workspaces", () => checkOwnWorkspaces(invocation));
  await run("git", () => checkGit(invocation));
  const isOpen = await canOpen(invocation, run);
  if (isOpen) {
    await run("stores", () => checkStores(invocation));
    await run("records", () => checkRecords(invocation));
    await run("turns", () => (deep ? checkTurns(invocation) : { name: "turns", state: "note", detail: turnsUnread }));
    await run("sessions", () => checkSessions(invocation));
  }
  await run("live log", () => checkLive(invocation, isOpen));
  await run("index", () => checkIndex(invocation, isOpen));
  await run("server", () => checkServer(invocation));
  report(invocation, checks);
  return checks.some((check) => check.state === "failed") ? exitCodes.failed : exitCodes.fine;
}

/** A fault that several checks find is reported once, with its fix. */
function failed(name: string, error: unknown, before: readonly Check[]): Check {
  const { message, fix } = writeFailure(error, null);
  const cause = before.find(({ state, detail }) => state === "failed" && message.endsWith(detail));
  if (cause !== undefined) return { name, state: "note", detail: `not checked, because of: ${cause.name}` };
  return { name, state: "failed", detail: message, ...(fix !== null && { fix }) };
}

function report(invocation: CliInvocation, checks: Check[]): void {
  const { output } = invocation;
  if (invocation.json) {
    output.json({ checks });
    return;
  }
  const { green, yellow, red } = output.style;
  const marks = { ok: green("ok"), note: yellow("--"), failed: red("!!") };
  const nameCells = Math.max(...checks.map(({ name }) => name.length));
  for (const check of checks) {
    const [first = "", ...more] = output.rows([[check.name.padEnd(nameCells), check.detail]], { indent: 3 });
    output.line(`${marks[check.state]} ${first}`);
    for (const line of more) output.line(`   ${line}`);
    if (check.fix !== undefined)
      for (const line of output.rows([[`fix: ${check.fix}`]], { indent: 3 })) output.line(`   ${line}`);
  }
}

function checkNode(): Check {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= nodeMajorMin) return { name: "node", state: "ok", detail: node };
  const fix = "start aptove with npm start or npx aptove: they install the right version";
  return { name: "node", state: "failed", detail: `${node} is too old`, fix };
}

function checkFolder(invocation: CliInvocation): Check {
  const { dir } = invocation.folder();
  if (!existsSync(dir)) {
    return { name: "data folder", state: "note", detail: `${dir} does not exist yet; the first command creates it` };
  }
  accessSync(dir, constants.R_OK | constants.W_OK);
  const isPrivate = process.platform === "win32" || (statSync(dir).mode & 0o077) === 0;
  if (isPrivate) return { name: "data folder", state: "ok", detail: dir };
  const detail = `${dir} can be read by other users`;
  return { name: "data folder", state: "note", detail, fix: `chmod 700 "${dir}"` };
}

function checkConfiguration(invocation: CliInvocation): Check {
  const { configuration } = invocation.loaded();
  const [problem] = configurationProblems(configuration, invocation.io.env);
  const fix = "correct it; all faults are in: aptove config check";
  if (problem !== undefined) return { name: "configuration", state: "failed", detail: problem, fix };
  if (configuration.provider !== "offline") {
    return { name: "configuration", state: "ok", detail: answering(configuration) };
  }
  const detail = "the built-in offline model answers";
  const keys = Object.values(keyedProviders).map(({ keyVariables: [variable] }) => variable);
  return {
    name: "configuration",
    state: "note",
    detail,
    fix: `for a real model set one of ${keys.join(", ")}`,
  };
}

/** Asks every provider that can be called whether it answers and accepts its key. */
async function checkProviders(invocation: CliInvocation): Promise<Check[]> {
  if (invocation.server() !== null) return [];
  return (await providerReports(invocation)).map(({ name, fault, fix, isUnsure }): Check => {
    const title = `provider ${name}`;
    if (fault !== null) return { name: title, state: "failed", detail: fault, ...(fix !== null && { fix }) };
    if (!isUnsure) return { name: title, state: "ok", detail: "answers and accepts the key" };
    return { name: title, state: "note", detail: "answers, but has no list of models, so its key is not checked" };
  });
}

/**
 * Returns true if the stores can be opened without creating them. If there are none yet, adds that to the checks: this
 * command only reads. A store that does not answer is opened, which finds the reason.
 */
async function canOpen(invocation: CliInvocation, run: RunCheck): Promise<boolean> {
  if (invocation.server() !== null) return true;
  if (await invocation.hasRecords().catch(() => true)) return true;
  await run("stores", async () => {
    await invocation.checkBlobs();
    return { name: "stores", state: "note", detail: `${invocation.recordsLocation()}: no records yet` };
  });
  return false;
}

/** Checks the workspaces of this machine, also if a server is named. */
async function checkOwnWorkspaces(invocation: CliInvocation): Promise<Check> {
  const { count, problems } = await checkWorkspaces(invocation);
  const [problem, ...more] = problems;
  if (problem === undefined) return { name: "workspaces", state: "ok", detail: String(count) };
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  const fix = "see all of them: aptove config check";
  return { name: "workspaces", state: "failed", detail: `${problem}${others}`, fix };
}

async function checkGit(invocation: CliInvocation): Promise<Check> {
  const { root, repo, hasGit, refusal } = await invocation.copy();
  if (refusal !== null) return { name: "git", state: "note", detail: `git is not used here: ${refusal}` };
  if (hasGit) return { name: "git", state: "ok", detail: `${repo} at ${root}` };
  const detail = `${root} is not in a git repository`;
  return { name: "git", state: "note", detail, fix: "change to a repository, so that its files can be indexed" };
}

async function checkStores(invocation: CliInvocation): Promise<Check> {
  const health = await (await invocation.client()).health();
  // A server reports its stores to its operator only. Not to see them is no failure.
  if (health.records === undefined) return { name: "stores", state: "ok", detail: `the server is ${health.status}` };
  const { url } = invocation.loaded().configuration.blobs;
  // The configuration of another server is not known here.
  const where = url === null || invocation.server() !== null ? "" : ` in ${url}`;
  const detail = `records ${health.records}, blobs ${health.blobs}${where}`;
  if (health.records === "ok" && health.blobs === "ok") return { name: "stores", state: "ok", detail };
  return {
    name: "stores",
    state: "failed",
    detail,
    fix: fixes.storage_failed,
  };
}

/** Reports which programs can use the data. An upgrade of several servers depends on it. */
async function checkRecords(invocation: CliInvocation): Promise<Check> {
  if (invocation.server() !== null)
    return { name: "records", state: "note", detail: "are checked on the server's machine" };
  const { product, version, oldest, known } = await (await invocation.local("checking the records")).recordsAbout();
  const used = oldest === version ? "" : `, for programs from version ${oldest} on`;
  const detail = `${product}, data of version ${version}${used}`;
  if (version === known) return { name: "records", state: "ok", detail };
  const fix = "it can be used; install the newer aptove here too";
  return { name: "records", state: "note", detail: `${detail}; this program writes version ${known}`, fix };
}

const turnsUnread = "their contents were not read; check all of them: aptove doctor --deep";

/** Reads every stored turn: a blob that is missing or damaged shows only when it is read. */
async function checkTurns(invocation: CliInvocation): Promise<Check> {
  if (invocation.server() !== null)
    return { name: "turns", state: "note", detail: "are checked on the server's machine" };
  const local = await invocation.local("checking the turns");
  const { turns, faults } = await local.verifyAll(() => {});
  const [fault] = faults;
  if (fault === undefined)
    return { name: "turns", state: "ok", detail: `${plural(turns, "turn")} read, all are whole` };
  const more = faults.length === 1 ? "" : ` (and ${faults.length - 1} more)`;
  const detail = `turn ${fault.turnId} of session ${fault.sessionId}: ${fault.reason}${more}`;
  const fix = "put the blobs that are named back from a backup; see: aptove session verify <id>";
  return { name: "turns", state: "failed", detail, fix };
}

/** Checks that no session of this folder is hidden by an update, a moved folder or a new name. */
async function checkSessions(invocation: CliInvocation): Promise<Check> {
  if (invocation.server() !== null) return { name: "sessions", state: "note", detail: "are the server's own matter" };
  const { detachedSessions } = await import("./attach.ts");
  const lacking = (await detachedSessions(invocation)).filter(({ isCertain }) => isCertain);
  if (lacking.length === 0) return { name: "sessions", state: "ok", detail: "each is in a list" };
  const detail = `${plural(lacking.length, "session")} of this folder in no list`;
  return { name: "sessions", state: "note", detail, fix: "see and attach them: aptove doctor --attach" };
}

/** Checks how the events of running turns are distributed. If Redis does not answer, the records distribute them. */
async function checkLive(invocation: CliInvocation, isOpen: boolean): Promise<Check> {
  if (invocation.server() !== null)
    return { name: "live log", state: "note", detail: "is checked on the server's machine" };
  const { records, live } = invocation.loaded().configuration;
  const behind = records.url === null ? "in files" : "in PostgreSQL";
  // It was opened with the records. If they do not answer, it does not either.
  if (records.url !== null && isOpen) await invocation.local("checking the live log");
  if (live.redis === null) return { name: "live log", state: "ok", detail: behind };
  const { host } = new URL(live.redis);
  const fault = await invocation.redisFault(live.redis);
  if (fault === null) return { name: "live log", state: "ok", detail: `in Redis at ${host}, behind it ${behind}` };
  const detail = `${behind}, for Redis at ${host} cannot be used: ${fault}`;
  return {
    name: "live log",
    state: "note",
    detail,
    fix: "check that Redis runs, and the address in live.redis: aptove config show",
  };
}

async function checkIndex(invocation: CliInvocation, isOpen: boolean): Promise<Check> {
  if (invocation.server() !== null)
    return { name: "index", state: "note", detail: "is checked on the server's machine" };
  const { repo, root, hasGit } = await invocation.copy();
  const { store, qdrant } = invocation.loaded().configuration.retrieval;
  const isShared = store === "qdrant";
  const where = isShared ? ` in Qdrant at ${qdrant.url ?? "no address"}` : "";
  if (!hasGit) return { name: "index", state: "note", detail: "code is searched only in a git repository" };
  const listed = isOpen ? await (await invocation.local("checking the index")).indexes.list() : [];
  const found = listed.find((index) => index.repo === repo);
  if (found !== undefined) {
    const head = await headCommit(root);
    const detail = `${repo}: ${found.files} files, ${found.chunks} chunks, ${found.embedding.model}${where}`;
    if (head === found.commit) return { name: "index", state: "ok", detail };
    const fix = `bring it up to date: aptove index${isShared ? " --commit" : ""}`;
    return { name: "index", state: "note", detail: `${detail}; made at another commit`, fix };
  }
  if (isShared)
    return { name: "index", state: "note", detail: `${repo} is not indexed${where}`, fix: "aptove index --commit" };
  return { name: "index", state: "note", detail: `${repo} is not indexed yet; the first instruction indexes it` };
}

async function checkServer(invocation: CliInvocation): Promise<Check> {
  const named = invocation.server();
  const running = named === null ? findServer(invocation.folder()) : null;
  const url = named ?? running?.url;
  if (url === undefined) return { name: "server", state: "note", detail: "not running; commands work without one" };
  const response = await fetch(`${url.replace(/\/+$/, "")}/healthz`, { signal: AbortSignal.timeout(3_000) }).catch(
    () => null,
  );
  const pid = running === null ? "" : ` (pid ${running.pid})`;
  if (response?.ok === true) return { name: "server", state: "ok", detail: `${url}${pid}` };
  const fix = named === null ? "start it again: aptove serve" : "check the address and that it runs";
  return { name: "server", state: "failed", detail: `${url}${pid} does not answer`, fix };
}
