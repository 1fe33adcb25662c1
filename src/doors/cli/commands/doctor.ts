/** `aptove doctor`: checks what works here, and names the fix for each fault (L1). */
import type { Check } from "../../../domain/check.ts";
import type { WireReadiness } from "../../../client/client.ts";
import type { DataFolder } from "../../../configuration/data-folder.ts";
import { fixes } from "../../../domain/fixes.ts";
import {
  askProviders,
  configurationCheck,
  folderCheck,
  indexCheck,
  liveCheck,
  nodeCheck,
  providerCheck,
  recordsCheck,
  storesCheck,
  workspacesCheck,
} from "../../../inspection/checks.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, UsageError, writeFailure, type ExitCode } from "../failure.ts";
import { plural } from "../../../system/grouped-number.ts";
import type { TurnFault } from "../ports.ts";
import { askServer, findServers } from "../server-file.ts";

/** Runs a check and adds what it found, or its failure. */
type RunCheck = (name: string, check: () => Promise<Check> | Check) => Promise<void>;

export async function doctor(
  invocation: CliInvocation,
  ids: readonly string[],
  { deep = false }: { deep?: boolean } = {},
): Promise<ExitCode> {
  if (ids.length > 0)
    throw new UsageError("doctor takes the ids of sessions only with --attach", "aptove doctor --attach <id>");
  const checks: Check[] = [];
  const run: RunCheck = async (name, check) => {
    try {
      checks.push(await check());
    } catch (error) {
      checks.push(failed(name, error, checks));
    }
  };
  await run("node", nodeCheck);
  await run("data folder", () => folderCheck(invocation.folder().dir));
  await run("configuration", () => configurationCheck(invocation.loaded().configuration, invocation.io.env));
  for (const check of await checkProviders(invocation)) checks.push(check);
  await run("workspaces", async () => {
    const here = { configuration: invocation.loaded().configuration, folder: invocation.folder() };
    return workspacesCheck(await invocation.workspaceProblems(), here);
  });
  await run("git", () => checkGit(invocation));
  if (invocation.server() === null) await checkOwnData(invocation, run, { deep });
  else for (const check of await checkOtherServer(invocation, run)) checks.push(check);
  await run("server", () => checkServer(invocation));
  report(invocation, checks);
  return checks.some((check) => check.state === "failed") ? exitCodes.failed : exitCodes.fine;
}

/** Checks the data of this machine. */
async function checkOwnData(invocation: CliInvocation, run: RunCheck, { deep }: { deep: boolean }): Promise<void> {
  const isOpen = await canOpen(invocation, run);
  if (isOpen) {
    await run("stores", () => checkStores(invocation));
    await run("records", async () =>
      recordsCheck(await (await invocation.local("checking the records")).recordsAbout()),
    );
    if (deep) await checkTurns(invocation, run);
    else await run("turns", () => ({ name: "turns", state: "note", detail: turnsUnread }));
    await run("sessions", () => checkSessions(invocation));
  }
  await run("live log", () => checkLive(invocation, isOpen));
  await run("index", () => checkIndex(invocation, isOpen));
}

/** Returns what another server finds about itself. It says so only to its operator; not to see it is no failure. */
async function checkOtherServer(invocation: CliInvocation, run: RunCheck): Promise<Check[]> {
  await run("stores", () => checkStores(invocation));
  const found = new Map<string, Check>();
  try {
    const client = await invocation.client();
    for await (const { name, state, detail, fix } of client.inspect()) {
      if (state === "running") continue;
      found.set(name, { name: `server: ${name}`, state, detail, ...(fix !== null && { fix }) });
    }
  } catch {
    const detail = "its parts are shown to an admin of its first org, or on its own machine";
    return [{ name: "server: all", state: "note", detail }];
  }
  return [...found.values()];
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

/** Asks every provider that can be called whether it answers and accepts its key. */
async function checkProviders(invocation: CliInvocation): Promise<Check[]> {
  const { configuration } = invocation.loadedOrNull() ?? {};
  if (invocation.server() !== null || configuration === undefined) return [];
  const answers = await askProviders(configuration, (name) => invocation.checkProvider(name));
  return answers.map(({ name, ...answer }) => providerCheck(name, answer));
}

/**
 * Returns true if the stores can be opened without creating them. If there are none yet, adds that to the checks: this
 * command only reads. A store that does not answer is opened, which finds the reason.
 */
async function canOpen(invocation: CliInvocation, run: RunCheck): Promise<boolean> {
  if (await invocation.hasRecords().catch(() => true)) return true;
  await run("stores", async () => {
    await invocation.checkBlobs();
    return { name: "stores", state: "note", detail: `${invocation.recordsLocation()}: no records yet` };
  });
  return false;
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
  if (health.records === undefined) return { name: "stores", ...unseenStores(health) };
  const { records, blobs = "failed", log = "failed" } = health;
  // The configuration of another server is not known here. It finds the reasons itself.
  if (invocation.server() !== null) return storesCheck({ records, blobs, log, bucket: null });
  if (blobs === "failed") await invocation.checkBlobs();
  return storesCheck({ records, blobs, log, bucket: invocation.loaded().configuration.blobs.url });
}

function unseenStores({ status }: WireReadiness): Omit<Check, "name"> {
  if (status === "ready") return { state: "ok", detail: "the server is ready" };
  return {
    state: "failed",
    detail: "the server cannot run turns",
    fix: "its operator finds the reason: aptove doctor",
  };
}

const turnsUnread = "their contents were not read; check all of them: aptove doctor --deep";

/** Reads every stored turn: what is missing or damaged shows only when it is read. Each turn that is not whole is a check. */
async function checkTurns(invocation: CliInvocation, run: RunCheck): Promise<void> {
  let faults: TurnFault[] = [];
  await run("turns", async () => {
    const local = await invocation.local("checking the turns");
    const found = await local.verifyAll(() => {});
    faults = found.faults;
    const read = `${plural(found.turns, "turn")} read`;
    if (faults.length === 0) return { name: "turns", state: "ok", detail: `${read}, all are whole` };
    const detail = `${read}, ${plural(faults.length, "turn")} not whole`;
    return { name: "turns", state: "failed", detail, fix: fixes.records_damaged };
  });
  for (const { turnId, sessionId, reason } of faults) {
    const where = sessionId === null ? "" : ` of session ${sessionId}`;
    await run("turn", () => ({ name: "turn", state: "failed", detail: `${turnId}${where}: ${reason}` }));
  }
}

/** Checks that no session of this folder is hidden by an update, a moved folder or a new name. */
async function checkSessions(invocation: CliInvocation): Promise<Check> {
  const { detachedSessions } = await import("./attach.ts");
  const lacking = (await detachedSessions(invocation)).filter(({ isCertain }) => isCertain);
  if (lacking.length === 0) return { name: "sessions", state: "ok", detail: "each is in a list" };
  const detail = `${plural(lacking.length, "session")} of this folder in no list`;
  return { name: "sessions", state: "note", detail, fix: "see and attach them: aptove doctor --attach" };
}

/** Checks how the events of running turns are distributed. If Redis does not answer, the records distribute them. */
async function checkLive(invocation: CliInvocation, isOpen: boolean): Promise<Check> {
  const { configuration } = invocation.loaded();
  // It was opened with the records. If they do not answer, it does not either.
  if (configuration.records.url !== null && isOpen) await invocation.local("checking the live log");
  return await liveCheck(configuration, (url) => invocation.redisFault(url));
}

async function checkIndex(invocation: CliInvocation, isOpen: boolean): Promise<Check> {
  const { repo, root, hasGit } = await invocation.copy();
  const { retrieval } = invocation.loaded().configuration;
  if (!hasGit) return { name: "index", state: "note", detail: "code is searched only in a git repository" };
  const listed = isOpen ? await (await invocation.local("checking the index")).indexes.list() : [];
  const found = listed.find((index) => index.repo === repo);
  if (found !== undefined) return { name: "index", ...(await indexCheck({ ...found, root }, retrieval)) };
  if (retrieval.store === "local")
    return { name: "index", state: "note", detail: `${repo} is not indexed yet; the first instruction indexes it` };
  const detail = `${repo} is not indexed in Qdrant at ${retrieval.qdrant.url ?? "no address"}`;
  return { name: "index", state: "note", detail, fix: "aptove index --commit" };
}

async function checkServer(invocation: CliInvocation): Promise<Check> {
  const named = invocation.server();
  if (named === null) return await checkOwnServer(invocation.folder());
  const response = await fetch(`${named.replace(/\/+$/, "")}/healthz`, { signal: AbortSignal.timeout(3_000) }).catch(
    () => null,
  );
  if (response?.ok === true) return { name: "server", state: "ok", detail: named };
  const fix = "check the address and that it runs";
  return { name: "server", state: "failed", detail: `${named} does not answer`, fix };
}

/** Checks the server of the data folder. A file whose server has ended says nothing about what listens at its address now. */
async function checkOwnServer(folder: DataFolder): Promise<Check> {
  const running = await findServers(folder);
  const answers = await Promise.all(running.map(askServer));
  const at = (answer: (typeof answers)[number]): string | null => {
    const found = running[answers.indexOf(answer)];
    return found === undefined ? null : `${found.url} (pid ${found.pid})`;
  };
  const [answering, silent] = [at("accepts"), at("silent")];
  if (answering !== null) return { name: "server", state: "ok", detail: answering };
  if (silent === null) return { name: "server", state: "note", detail: "not running; commands work without one" };
  const fix = "start it again: aptove serve";
  return { name: "server", state: "failed", detail: `${silent} does not answer`, fix };
}
