/** `aptove acp`: serves one client on standard input and output, until it leaves or the process is stopped (P1, R4). */
import { Writable, type Readable } from "node:stream";
import { RequestError } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { whenAborted, withinMs } from "../../../system/abort.ts";
import { systemCode } from "../../../system/system-error.ts";
import { acpAgent } from "../agent.ts";
import type { AcpKeys, AcpPorts, OpenedPorts } from "../ports.ts";
import { stdioStream } from "./stdio-stream.ts";

export interface StdioOptions {
  ports: Omit<AcpPorts, "open" | "report" | "deviceId" | "keys">;
  keys: Omit<AcpKeys, "reopen">;
  /** Opens the stores. Called after the response to `initialize`, and again by the next request if it failed. */
  open(): Promise<OpenedPorts & ClosableStores>;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Aborts when the process must stop. */
  stop: AbortSignal;
}

export interface ClosableStores {
  /** Waits this long for running turns, then interrupts the rest (R4). */
  close(options: { graceMs: number }): Promise<void>;
  /** How long running turns may take to finish when the client has left or the process must stop, in milliseconds. */
  graceMs: number;
}

/** Serves the client. Resolves when everything is closed. A turn that is running when the client leaves has the grace time to finish (R4, R5). */
export async function serveStdio({ ports, keys, open, stdin, stdout, stderr, stop }: StdioOptions): Promise<void> {
  const report = reportTo(stderr);
  let opening: Promise<OpenedPorts & ClosableStores> | null = null;
  const opened = (): Promise<OpenedPorts & ClosableStores> => {
    opening ??= open().catch((error: unknown) => {
      // The next request tries again, because the user may have fixed the configuration.
      opening = null;
      throw error;
    });
    return opening;
  };
  const reopen = async (): Promise<void> => {
    const former = opening;
    opening = null;
    await (await former?.catch(() => null))?.close({ graceMs: 0 });
  };
  const { stream, inputEnded } = stdioStream(stdin, stdout, limits.acpMessageBytesMax);
  const connection = acpAgent({
    ...ports,
    keys: { ...keys, reopen },
    deviceId: null,
    open: opened,
    report,
  }).connect(stream);
  // The response to `initialize` goes first: loading the stores blocks the only thread of the process for a while.
  setImmediate(() => {
    opened().catch((error: unknown) => report("the stores could not be opened; the next request tries again", error));
  });
  await Promise.race([connection.closed, inputEnded, whenAborted(stop)]);
  const stores = await opened().catch(() => null);
  const until = performance.now() + (stores?.graceMs ?? 0);
  // The client closed its output and may still read, so its earlier requests are answered.
  await withinMs(Math.max(0, until - performance.now()), Promise.race([connection.closed, whenAborted(stop)]));
  await stores?.close({ graceMs: Math.max(0, until - performance.now()) });
  connection.close();
  await connection.ended;
}

/**
 * Reserves standard output for the protocol. Anything else that this program or a package writes there goes to standard error
 * from now on.
 */
export function claimOutput(stdout: Writable, stderr: Writable): Writable {
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const own = new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write(chunk, encoding, done),
    writev: (chunks, done) => void write(chunks.map(({ chunk }) => String(chunk)).join(""), "utf8", done),
  });
  // If the client closed its end, the writer receives the error, and the connection ends.
  stdout.on("error", (error) => own.destroy(error));
  own.on("error", () => undefined);
  return own;
}

function reportTo(stderr: Writable): AcpPorts["report"] {
  return (message, error) => {
    const detail = isExpected(error) ? error.message : error instanceof Error ? error.stack : String(error ?? "");
    stderr.write(`aptove: ${message}${detail === "" ? "" : `: ${detail}`}\n`);
  };
}

/** Returns true for a fault of the outside world, such as an error that the client answered: its message tells everything, and a stack would only hide it. */
function isExpected(error: unknown): error is Error {
  return error instanceof AptoveError || error instanceof RequestError || systemCode(error) !== "";
}
