/** The address of a server as another machine names it, and the square with which a phone's camera reads it (U2, P3). */
import { isEveryAddress, ownAddresses } from "../../../system/addresses/own-addresses.ts";
import type { CliInvocation } from "../invocation.ts";

/** Returns the address with this machine's own in place of "every address". Null: the machine has no other than loopback. */
export function reachableAddress(url: string, own: readonly string[] = ownAddresses()): string | null {
  const at = new URL(url);
  if (!isEveryAddress(at.hostname)) return url.replace(/\/+$/, "");
  const [first] = own;
  if (first === undefined) return null;
  at.hostname = first.includes(":") ? `[${first}]` : first;
  return at.origin;
}

/** Returns the address as a browser on this machine names it. */
export function addressHere(url: string): string {
  return reachableAddress(url, ["127.0.0.1"]) ?? url;
}

/** The code is after a `#`, so no server, proxy or log on the way receives it. */
export function pairingAddress(url: string, code: string): string {
  return `${url.replace(/\/+$/, "")}/pair#${code}`;
}

/** Draws the address light on dark, whatever the colours of the terminal: not every camera reads it inverted. */
export async function squareOf({ output }: CliInvocation, address: string): Promise<string> {
  const { renderUnicodeCompact } = await import("uqr");
  const { bgBlack, whiteBright } = output.style;
  const lines = renderUnicodeCompact(address, { border: 2 }).split("\n");
  return `\n${lines.map((line) => bgBlack(whiteBright(line))).join("\n")}\n`;
}
