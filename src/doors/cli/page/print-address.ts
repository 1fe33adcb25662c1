/** `aptove page`: prints an address that signs one browser in to the page of the running server (U2). */
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { runningServer } from "../lookup/running-server.ts";
import { openInBrowser, pageAddress } from "./page-address.ts";
import { addressHere } from "./reachable-address.ts";

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
