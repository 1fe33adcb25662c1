/** `aptove serve` and `aptove start`: the HTTP server of this machine's data folder (L1, R4). */
import { AptoveError, failureOf } from "../../../domain/errors.ts";
import { fixes } from "../../../domain/fixes.ts";
import { storageFault, storageFaultCode } from "../../../domain/storage-fault.ts";
import { whenAborted } from "../../../system/abort.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { sourceText } from "../../../configuration/config-layer.ts";
import { systemCode } from "../../../system/system-error.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { ClosingWait } from "../../../engine/engine.ts";
import type { CliInvocation } from "../invocation.ts";
import { openInBrowser, pageAddress } from "../page/page-address.ts";
import { addressHere, pairingAddress, reachableAddress, squareOf } from "../page/reachable-address.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import type { LocalEngine } from "../ports.ts";
import {
  answeringServer,
  answersAt,
  findStopping,
  howToStop,
  formerKeyId,
  isLoopback,
  markStopping,
  writeFurtherServerFile,
  writeServerFile,
} from "../server-file.ts";
import { listenForStop } from "../stop-signals.ts";
import { summaryLines, indexWorkingCopy } from "../indexing/index-working-copy.ts";
import { allKeys } from "../lookup/find-people.ts";
import { plural } from "../../../system/grouped-number.ts";

export interface ServeOptions {
  host?: string;
  port?: number;
  /** False: no browser is opened. */
  open?: boolean;
  /** True: a phone in the same network can open the page too. */
  phone?: boolean;
}

/** The name of the key that earlier versions stored for commands on this machine. */
const localKeyName = "commands on this machine";
const firstKeyName = "first key";

export async function serve(call: CliInvocation, options: ServeOptions): Promise<ExitCode> {
  call.override("serve", withoutNullish({ host: options.host, port: options.port }));
  const local = await call.local("serving", { isServer: true });
  // The log of a server is no place for a secret, so the person makes the first key.
  const hasNoKey = !(await hasKey(local));
  return await serveUntilStopped(call, local, (url) => {
    if (call.json) call.output.json({ url, pid: process.pid, dataDir: call.folder().dir });
    else {
      call.output.line(`aptove ${call.version} serves at ${url} (pid ${process.pid}); Ctrl-C stops it`);
      if (hasNoKey) call.output.note("programs need a key, and there is none yet: aptove key create <name>");
    }
  });
}

/** `npm start`: does what a first run needs, then starts the server. */
export async function start(call: CliInvocation, options: ServeOptions): Promise<ExitCode> {
  const host = options.host ?? (options.phone === true ? "0.0.0.0" : undefined);
  call.override("serve", withoutNullish({ host, port: options.port }));
  await refuseSecondServer(call);
  const local = await call.local("serving", { isServer: true });
  await indexHere(call);
  const key = await firstKey(local);
  const { product, version } = await local.recordsAbout();
  const records = `${product}, version ${version}`;
  const { code } = await local.client.page.createCode();
  return await serveUntilStopped(call, local, async (url) => {
    const page = pageAddress(addressHere(url), code);
    for (const line of welcome(call, { page, key, records })) call.output.line(line);
    if (options.phone === true) for (const line of await forPhone(call, local, url)) call.output.line(line);
    if (options.open !== false) openInBrowser(call.io, page);
  });
}

/**
 * Returns what a phone's camera reads. The phone becomes a device in the workspace of this machine's terminals, so it sees what
 * they do.
 */
async function forPhone(call: CliInvocation, local: LocalEngine, url: string): Promise<string[]> {
  const { bold, dim } = call.output.style;
  const reachable = reachableAddress(url);
  if (reachable === null || isLoopback(new URL(reachable).hostname)) {
    return ["", "no phone can reach this machine: connect it to a network, or name its address: --host <address>"];
  }
  const { workspaces } = await call.workspaces();
  const { id } = await workspaces.use(defaultWorkspaceId);
  const { code } = await local.client.devices.createPairingCode({ workspaceId: id });
  const address = pairingAddress(reachable, code);
  return [
    "",
    bold("open the page on a phone in the same network: scan this with its camera"),
    ...(call.output.isTerminal ? [await squareOf(call, address)] : []),
    `  address      ${address}`,
    dim("               it works once, within five minutes; another one: aptove device pair --workspace default"),
    dim("               there is no TLS, so others in this network can read what the phone sends and sees"),
  ];
}

/**
 * Indexes the repository. The server answers without an index too, so a failure is only printed. Build servers make the
 * index that a team shares.
 */
async function indexHere(call: CliInvocation): Promise<void> {
  const { output } = call;
  if (call.loaded().configuration.retrieval.store !== "local") return;
  const copy = await call.copy();
  if (!copy.hasGit) {
    output.note(`${output.safeNote(copy.root)} is not in a git repository, so nothing is indexed`);
    return;
  }
  try {
    output.line(`indexing ${output.safe(copy.root)}; the first time takes longest`);
    for (const line of summaryLines(await indexWorkingCopy(call, copy, {}))) output.line(output.safe(line));
  } catch (error) {
    output.note(`warning: ${output.safeNote(failureOf(error).message)}; again: aptove index`);
  }
}

async function hasKey(local: LocalEngine): Promise<boolean> {
  return (await allKeys(local.client)).some((key) => key.revokedAt === null && key.name !== localKeyName);
}

/** Creates the first key. Its secret cannot be shown again, because only its hash is stored (H4). */
async function firstKey(local: LocalEngine): Promise<string | null> {
  if (await hasKey(local)) return null;
  return (await local.client.keys.create({ name: firstKeyName })).secret;
}

function welcome(call: CliInvocation, at: { page: string; key: string | null; records: string }): string[] {
  const { bold, dim } = call.output.style;
  const { provider } = call.loaded().configuration;
  const command = commandName(call);
  const answers =
    provider === "offline"
      ? "the built-in offline model (set OPENAI_API_KEY for a real one)"
      : `${provider}, as configured`;
  const key = at.key ?? dim(`shown at the first start only; create another one: ${command} key create <name>`);
  return [
    "",
    bold(`aptove ${call.version} is ready`),
    `  open         ${at.page}`,
    dim(`               the address signs one browser in, once, within an hour; another one: ${command} page`),
    `  API key      ${key}`,
    `  process      ${process.pid}`,
    `  data folder  ${call.folder().dir}`,
    `  records      ${at.records}`,
    `  answers      ${answers}`,
    "",
    "try, in another terminal:",
    `  ${command} ask "when is an interrupted turn completed and when failed?"`,
    `  ${command} chat --continue`,
    `  ${command} session log`,
    "",
    dim("Ctrl-C stops the server"),
  ];
}

/** What a person types in the clone that `npm start` runs in. Elsewhere: the path of the command. */
function commandName(call: CliInvocation): string {
  if (call.io.env["npm_package_name"] === "aptove") return "npx aptove";
  return call.bin.includes(" ") ? JSON.stringify(call.bin) : call.bin;
}

async function serveUntilStopped(
  call: CliInvocation,
  local: LocalEngine,
  onReady: (url: string) => void | Promise<void>,
): Promise<ExitCode> {
  const { host, port } = call.loaded().configuration.serve;
  const { url, key } = await listenOrTell(call, local, { host, port });
  const first = await announce(call, local, { url, key });
  // A program that reads JSON from standard error expects no other text there.
  const isRead = call.loaded().configuration.log.format === "json";
  const say = (lines: string[]): void => {
    if (lines.length === 0) return;
    if (isRead) return local.report(lines.join(" "));
    for (const line of lines) call.output.note(line);
  };
  if (first !== null)
    say([`commands on this machine use the server at ${first.url} (pid ${first.pid}) as long as it runs`]);
  if (!isLoopback(host)) say(plainHttp(host));
  say(await configurationWarning(call));
  const stopping = listenForStop(call.io.signals);
  try {
    await onReady(url);
    await Promise.race([whenAborted(stopping.first), whenAborted(call.output.closed)]);
    noteStopping(call, local, key);
    const onWaiting = (wait: ClosingWait): void => {
      if (!call.json) say([stoppingLine(wait)]);
    };
    await Promise.race([call.close({ onWaiting }), stopping.second]);
    return exitCodes.fine;
  } finally {
    stopping.release();
  }
}

/** Notes in the file that the server stops. A disk that takes no note is no reason not to stop in order (R4). */
function noteStopping(call: CliInvocation, local: LocalEngine, key: string): void {
  try {
    markStopping(call.folder(), key);
  } catch (error) {
    const what = "the file of this server could not note that it stops";
    local.report("the server stops without a note of it", storageFault(what, error));
  }
}

function stoppingLine({ runningTurns, graceMs }: ClosingWait): string {
  if (runningTurns === 0) return "stopping: no turn runs";
  const verb = runningTurns === 1 ? "ends" : "end";
  return `stopping: waits up to ${graceMs / 1_000} s until ${plural(runningTurns, "running turn")} ${verb}; a second Ctrl-C stops at once, and the next start keeps the answers so far`;
}

/** Warns of what keeps turns from running, such as a missing key of a provider. The server can be read meanwhile, so it starts. */
async function configurationWarning(call: CliInvocation): Promise<string[]> {
  const { configurationProblems } = await import("../../../inspection/configuration-problems.ts");
  const [problem, ...more] = configurationProblems(call.loaded().configuration, call.io.env);
  if (problem === undefined) return [];
  const others = more.length === 0 ? "" : ` (and ${plural(more.length, "other fault")})`;
  return [`warning: ${call.output.safeNote(problem)}${others}; check it: aptove config check`];
}

/** Warns that keys and tokens are sent in clear text, because this server has no TLS of its own. */
function plainHttp(host: string): string[] {
  return [
    `warning: ${host} is reached without TLS, so keys can be read on the network;`,
    "put a tunnel or a reverse proxy with TLS in front of the server, and add its name to serve.allowed_hosts",
  ];
}

/**
 * Lets other commands of this person find the server. A key that an earlier version stored for them ends. If another server of
 * this data folder runs, commands use that one as long as it does, and it is returned.
 */
async function announce(
  call: CliInvocation,
  local: LocalEngine,
  at: { url: string; key: string },
): Promise<{ url: string; pid: number } | null> {
  const folder = call.folder();
  const own = { pid: process.pid, ...at, configuration: call.fingerprint(), records: call.recordsLocation() };
  // A server at this address has ended, or this one could not listen there.
  const first = await answeringServer(folder, ({ url }) => url !== at.url);
  if (first !== null) {
    await writtenOrRefused(call, () => writeFurtherServerFile(folder, own));
    return first;
  }
  const keyId = formerKeyId(folder);
  const isStored = (await allKeys(local.client)).some(({ id, revokedAt }) => id === keyId && revokedAt === null);
  if (keyId !== undefined && isStored) await local.client.keys.revoke(keyId);
  await writtenOrRefused(call, () => writeServerFile(folder, own));
  return null;
}

/** Writes the file of this server. A folder that cannot be written can be read by commands, and served by no server. */
async function writtenOrRefused(call: CliInvocation, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    const code = storageFaultCode(error);
    const { dir } = call.folder();
    const fault = `a server writes to its data folder, and ${dir} takes no file: ${failureOf(error).message}`;
    const fix = "let this user write to the folder and its file system, or name another folder: APTOVE_DATA_DIR";
    throw new CommandFailed(code, fault, code === "storage_full" ? fixes.storage_full : fix);
  }
}

async function refuseSecondServer(call: CliInvocation): Promise<void> {
  const refusal = await refusalAt(call, call.loaded().configuration.serve.port);
  if (refusal !== null) throw refusal;
}

/**
 * Returns how to refuse a second server at the port of one of this data folder. Null: there is none. A server that was killed has left
 * its file, and another program may have its process id, so the server must answer.
 */
async function refusalAt(call: CliInvocation, port: number): Promise<CommandFailed | null> {
  const folder = call.folder();
  const isHere = ({ url }: { url: string }): boolean => port !== 0 && URL.parse(url)?.port === String(port);
  const running = await answeringServer(folder, isHere);
  if (running !== null) {
    const { url, pid } = running;
    const fix = `use it, stop it ${howToStop(running)}, or take another port: --port <n>`;
    return new CommandFailed("already_serving", `aptove serves at ${url} already (pid ${pid})`, fix);
  }
  const stopping = (await findStopping(folder)).find(isHere);
  if (stopping === undefined || !(await answersAt(stopping.url))) return null;
  const { url, pid } = stopping;
  const fault = `the server of this data folder at ${url} (pid ${pid}) is stopping, and waits for its running turns`;
  const fix = `try again when it has ended, end it at once ${howToStop(stopping)}, or take another port: --port <n>`;
  return new CommandFailed("port_in_use", fault, fix);
}

async function listenOrTell(
  call: CliInvocation,
  local: LocalEngine,
  at: { host: string; port: number },
): Promise<{ url: string; key: string }> {
  try {
    return await local.listen(at);
  } catch (error) {
    // The door reports that it cannot listen. The cause of its error has the reason.
    const code = systemCode(error instanceof Error ? error.cause : null);
    if (code === "") throw error;
    const isOfMetrics = error instanceof AptoveError && error.facts["listener"] === "metrics";
    throw isOfMetrics ? metricsRefusal(call, code) : await addressRefusal(call, at, code);
  }
}

/** Returns why the server cannot listen at its address. */
async function addressRefusal(
  call: CliInvocation,
  { host, port }: { host: string; port: number },
  code: string,
): Promise<CommandFailed> {
  const place = `${host}:${port}`;
  const another = "take another port: --port <n>";
  if (code === "EADDRINUSE") {
    const refusal = await refusalAt(call, port);
    if (refusal !== null) return refusal;
    const isOurs = call.loaded().configuration.metrics.port === port;
    if (!isOurs) return new CommandFailed("port_in_use", `another program listens on ${place}`, another);
    const fix = `${another}, or another one for the metrics: ${settingName(call, "metrics.port")}`;
    return new CommandFailed("port_in_use", `the server and its metrics have the same port ${port}`, fix);
  }
  const fix = code === "EACCES" ? "take a port above 1023: --port <n>" : hostFix(call);
  return new CommandFailed("cannot_listen", `cannot listen on ${place} (${code})`, fix);
}

/** Returns why the metrics have no address. */
function metricsRefusal(call: CliInvocation, code: string): CommandFailed {
  const { host, port } = call.loaded().configuration.metrics;
  const place = `${host}:${port}`;
  const [portSetting, hostSetting] = [settingName(call, "metrics.port"), settingName(call, "metrics.host")];
  if (code === "EADDRINUSE") {
    const fault = `another program listens on ${place}, the address of the metrics`;
    return new CommandFailed("port_in_use", fault, `take another port for the metrics: ${portSetting}`);
  }
  const fault = `cannot listen on ${place}, the address of the metrics (${code})`;
  const isPort = code === "EACCES";
  const fix = isPort ? `take a port above 1023: ${portSetting}` : `name an address of this machine: ${hostSetting}`;
  return new CommandFailed("cannot_listen", fault, fix);
}

/** Returns the name of a setting, and the variable or the file that has its value. */
function settingName(call: CliInvocation, key: string): string {
  const source = call.loaded().sources.get(key);
  return source === undefined ? key : `${key} in ${sourceText(source)}`;
}

/** Names what the host comes from: an option, a variable of the environment or a file. */
function hostFix(call: CliInvocation): string {
  const source = call.loaded().sources.get("serve.host");
  const isOption = source === undefined || source.layer === "explicit";
  return `name an address of this machine: ${isOption ? "--host <host>" : settingName(call, "serve.host")}`;
}
