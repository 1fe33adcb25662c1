/** `aptove page`: prints an address that signs one browser in to the page of the running server (U2). */
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, type ExitCode } from "../failure.ts";
import { openInBrowser, pageAddress } from "./page-address.ts";
import { addressHere } from "./reachable-address.ts";
import { answersAt, findServer } from "../server-file.ts";

export async function printPageAddress(call: CliInvocation, { open }: { open: boolean }): Promise<ExitCode> {
  const url = await runningServer(call);
  const { code, expiresAt } = await (await call.client()).page.createCode();
  const address = pageAddress(addressHere(url), code);
  if (call.json) {
    call.output.json({ address, expiresAt });
    return exitCodes.fine;
  }
  call.output.line(address);
  if (open) openInBrowser(call.io, address);
  return exitCodes.fine;
}

/** The code is kept in the process of the server, so one must run. */
async function runningServer(call: CliInvocation): Promise<string> {
  const named = call.server();
  if (named !== null) return named;
  const running = findServer(call.folder());
  if (running !== null && (await answersAt(running.url))) return running.url;
  throw new CommandFailed("no_server", "no server runs on this data folder", "start it in another terminal: npm start");
}
