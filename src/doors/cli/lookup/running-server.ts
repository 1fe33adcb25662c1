/** The server that keeps the codes of browsers and devices: they are in its memory, so one must run. */
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed } from "../failure.ts";
import { answeringServer } from "../server-file.ts";

/** Returns the address of the server that the invocation's client is connected to. Throws `no_server` if none runs. */
export async function runningServer(invocation: CliInvocation): Promise<string> {
  const named = invocation.server();
  if (named !== null) return named;
  const running = await answeringServer(invocation.folder());
  if (running === null) {
    const fix = "start it in another terminal: aptove serve";
    throw new CommandFailed("no_server", "no server runs on this data folder", fix);
  }
  await invocation.client();
  return invocation.ownServerUrl ?? running.url;
}
