/** `aptove acp`: one client on standard input and output, until it goes away or the process is told to stop (P1, R4). */
import { Writable, type Readable } from "node:stream";
import { limits } from "../../../domain/limits.ts";
import { whenAborted, withinMs } from "../../../system/abort.ts";
import { acpAgent } from "../agent.ts";
import type { AcpPorts, OpenedPorts } from "../ports.ts";
import { stdioStream } from "./stdio-stream.ts";

export interface StdioOptions {
  ports: Omit<AcpPorts, "open" | "report" | "deviceId">;
  /** Opens the stores; called once, as soon as the client waits for nothing else. */
  open(): Promise<OpenedPorts & Closable>;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  /** Aborts when the process is told to stop. */
  stop: AbortSignal;
}

export interface Closable {
  /** Lets running turns finish within this time, then interrupts the rest (R4). */
  close(options: { graceMs: number }): Promise<void>;
  /** How long running turns may take to finish when the client is gone or the process is told to stop. */
  graceMs: number;
}

/** Resolves when everything is closed. A turn that runs when the client goes away has the grace time to finish (R4, R5). */
export async function serveStdio({ ports, open, stdin, stdout, stderr, stop }: StdioOptions): Promise<void> {
  const report = reportTo(stderr);
  let opening: Promise<OpenedPorts & Closable> | null = null;
  const opened = (): Promise<OpenedPorts & Closable> => {
    opening ??= open().catch((error: unknown) => {
      // The next request tries again: a person may have mended the configuration by then.
      opening = null;
      throw error;
    });
    return opening;
  };
  const { stream, inputEnded } = stdioStream(stdin, stdout, limits.acpMessageBytesMax);
  const connection = acpAgent({ ...ports, deviceId: null, open: opened, report }).connect(stream);
  // The answer to `initialize` goes first: loading the stores takes the process's only thread for a while.
  setImmediate(() => {
    opened().catch((error: unknown) => report("the stores could not be opened", error));
  });
  await Promise.race([connection.closed, inputEnded, whenAborted(stop)]);
  const stores = await opened().catch(() => null);
  const until = performance.now() + (stores?.graceMs ?? 0);
  // The client closed its end and may still read: what it asked for before is answered.
  await withinMs(Math.max(0, until - performance.now()), Promise.race([connection.closed, whenAborted(stop)]));
  await stores?.close({ graceMs: Math.max(0, until - performance.now()) });
  connection.close();
  await connection.ended;
}

/**
 * Standard output for the protocol alone: from now on whatever else is written there, by this program or a package,
 * comes out on standard error.
 */
export function claimOutput(stdout: Writable, stderr: Writable): Writable {
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const own = new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write(chunk, encoding, done),
    writev: (chunks, done) => void write(chunks.map(({ chunk }) => String(chunk)).join(""), "utf8", done),
  });
  // A client that closed its end: whoever writes is told, and the connection ends.
  stdout.on("error", (error) => own.destroy(error));
  own.on("error", () => undefined);
  return own;
}

function reportTo(stderr: Writable): AcpPorts["report"] {
  return (message, error) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error ?? "");
    stderr.write(`aptove: ${message}${detail === "" ? "" : `: ${detail}`}\n`);
  };
}
