/** `aptove device pair | list | revoke` (P3). */
import type {
  AptoveClient,
  WireDevice,
  WirePairing,
  WirePairingCode,
  WirePairingStart,
} from "../../../client/client.ts";
import { isEveryAddress } from "../../../system/addresses/own-addresses.ts";
import { pause } from "../../../system/abort.ts";
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { pairingAddress, reachableAddress, squareOf } from "../page/reachable-address.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { shortIds } from "../lookup/find-by-id.ts";
import { namedWorkspace } from "../lookup/named-workspace.ts";
import { isLoopback } from "../server-file.ts";
import { runningServer } from "../lookup/running-server.ts";
import { listenForStop } from "../stop-signals.ts";

export interface PairOptions {
  url?: string;
  workspace?: string;
  wait: boolean;
}

/** How often to check whether the device has connected, in milliseconds. */
const lookEveryMs = 500;

export async function pairDevice(invocation: CliInvocation, options: PairOptions): Promise<ExitCode> {
  const address = options.url === undefined ? await serverAddress(invocation) : checkedAddress(options.url);
  const client = await invocation.client();
  const made = await client.devices.createPairingCode(await startOf(invocation, options));
  const url = pairingAddress(address, made.code);
  if (invocation.json) {
    invocation.output.json({ ...made, url });
    return exitCodes.fine;
  }
  await showCode(invocation, made, url);
  return options.wait ? await untilPaired(invocation, client, made) : exitCodes.fine;
}

async function startOf(invocation: CliInvocation, { workspace }: PairOptions): Promise<WirePairingStart> {
  if (workspace === undefined) return {};
  const workspaceId = await namedWorkspace(invocation, workspace);
  // The default workspace is created when it is first needed, as in a chat or an editor.
  if (workspaceId === defaultWorkspaceId && invocation.server() === null) {
    await (await invocation.workspaces()).workspaces.use(workspaceId);
  }
  return { workspaceId };
}

function checkedAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new UsageError(`--url ${text} is no address`, "begin it with http:// or https://");
}

async function serverAddress(invocation: CliInvocation): Promise<string> {
  const url = await runningServer(invocation);
  return invocation.server() ?? reachableAddress(url) ?? url;
}

async function showCode(invocation: CliInvocation, { code, expiresAt }: WirePairingCode, url: string): Promise<void> {
  const { output } = invocation;
  const { bold } = output.style;
  output.line(`code     ${bold(code)} (valid once, until ${localTime(expiresAt).slice(11, 19)})`);
  output.line(`address  ${output.safe(url)}`);
  if (output.isTerminal) output.line(await squareOf(invocation, url));
  const { hostname, protocol } = new URL(url);
  if (isLoopback(hostname) || isEveryAddress(hostname)) {
    output.note("no other machine can reach that address; if a tunnel or proxy leads to the server: --url <address>");
  } else if (protocol === "http:") {
    output.note("warning: without TLS, the code and the token can be read on the network; see docs/devices.md");
  }
}

async function untilPaired(invocation: CliInvocation, client: AptoveClient, made: WirePairingCode): Promise<ExitCode> {
  const { output } = invocation;
  const stopping = listenForStop(invocation.io.signals);
  output.note("waiting for the device; Ctrl-C stops waiting, and the code stays valid");
  try {
    const pairing = await Promise.race([outcome(client, made.id, stopping.first), stopping.second]);
    if (pairing === null) return exitCodes.interrupted;
    const { device } = pairing;
    if (device === null) {
      const fix = "create another code: aptove device pair";
      throw new CommandFailed(
        "pairing_refused",
        "no device connected in time, or there were too many wrong codes",
        fix,
      );
    }
    output.line(output.safe(`paired   ${device.name} (${device.deviceId})`));
    return exitCodes.fine;
  } finally {
    stopping.release();
  }
}

/** Waits for the device. Null if the person stopped the waiting. */
async function outcome(client: AptoveClient, id: string, stop: AbortSignal): Promise<WirePairing | null> {
  for (;;) {
    const pairing = await client.devices.pairing(id);
    if (stop.aborted) return null;
    if (pairing.state !== "open") return pairing;
    await pause(lookEveryMs, stop);
  }
}

export async function listDevices(invocation: CliInvocation): Promise<ExitCode> {
  const devices = await (await invocation.client()).devices.list();
  if (invocation.json) {
    invocation.output.json({ devices });
    return exitCodes.fine;
  }
  if (devices.length === 0) invocation.output.note("there are no devices; pair one: aptove device pair");
  const short = shortIds(devices.map((device) => device.id));
  const rows = devices.map((device) => [
    short.get(device.id) ?? device.id,
    device.deviceId,
    `paired ${localTime(device.createdAt).slice(0, 16)}`,
    device.lastUsedAt === null ? "never used" : `used ${localTime(device.lastUsedAt).slice(0, 16)}`,
    device.name,
  ]);
  invocation.output.table(rows);
  return exitCodes.fine;
}

export async function revokeDevice(invocation: CliInvocation, text: string): Promise<ExitCode> {
  const client = await invocation.client();
  const found = (await client.devices.list()).filter((device) => isMeant(device, text));
  const [device, second] = found;
  if (device === undefined) {
    throw new CommandFailed("not_found", `there is no device "${text}"`, "see: aptove device list");
  }
  if (second !== undefined) {
    throw new UsageError(`"${text}" matches ${found.length} devices`, "give the id as aptove device list shows it");
  }
  await client.devices.revoke(device.id);
  if (invocation.json) invocation.output.json({ revoked: device.id });
  else invocation.output.line(invocation.output.safe(`revoked ${device.name} (${device.deviceId})`));
  return exitCodes.fine;
}

function isMeant(device: WireDevice, text: string): boolean {
  const isPartOfId = text.length >= 4 && device.id.endsWith(text.toLowerCase());
  return isPartOfId || device.deviceId === text || device.name === text;
}
