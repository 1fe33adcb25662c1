/** The address of the page, which signs a browser in (U2). */
import { spawn } from "node:child_process";
import type { CliIo } from "../ports.ts";

/** The code is behind a `#`, so no server, proxy or log on the way receives it. */
export function pageAddress(url: string, code: string): string {
  return `${url.replace(/\/+$/, "")}/#code=${code}`;
}

/** Opens the address on a desktop. A machine without one, and a person who came over the network, get the printed address only. */
export function openInBrowser({ stdout, env }: Pick<CliIo, "stdout" | "env">, address: string): void {
  const isRemote = env["SSH_CONNECTION"] !== undefined || env["CI"] !== undefined;
  if (stdout.isTTY !== true || isRemote) return;
  const opener = openerOf(env);
  if (opener === null) return;
  const [command, ...args] = opener;
  const opened = spawn(command, [...args, address], { stdio: "ignore", detached: true });
  // The address is printed too, so a desktop that cannot open it needs no report.
  opened.on("error", () => undefined);
  opened.unref();
}

function openerOf(env: CliIo["env"]): [command: string, ...args: string[]] | null {
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  const hasDesktop = env["DISPLAY"] !== undefined || env["WAYLAND_DISPLAY"] !== undefined;
  return hasDesktop ? ["xdg-open"] : null;
}
