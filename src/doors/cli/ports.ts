/**
 * What the command line needs from outside: the terminal it runs in, and ways to an engine. Everything is
 * reached lazily, because each command pays for what it loads.
 */
import type { Readable, Writable } from "node:stream";
import type { AptoveClient } from "../../client/client.ts";
import type { Indexes } from "../../engine/engine.ts";

/** The surroundings of one call; tests bring their own. */
export interface CliIo {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Where signals come from; `process` itself. */
  signals: SignalSource;
  /**
   * What stands behind standard input. `file`: a pipe or a file of the shell, read to its end. `socket`: the
   * pipe of a program, which may never be written to. `none`: a terminal, or nothing.
   */
  inputKind(): "file" | "socket" | "none";
}

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

export interface CliPorts {
  version: string;
  /** Absolute path of the command, for texts that name it. */
  bin: string;
  /** Builds the engine of a data folder in this process, and a client that speaks to it without a socket, as the folder's owner. */
  openLocal(setup: LocalSetup): Promise<LocalEngine>;
  /** Serves one ACP client on the streams of `io`; resolves when it is gone and everything is closed. */
  serveAcp(setup: AcpSetup): Promise<void>;
}

/** The fields of the library's own entry (Y1). */
export interface LocalSetup {
  dataDir: string;
  env: CliIo["env"];
  /** Values of options, in the form of `config.toml` (W7). */
  overrides: Record<string, unknown>;
}

export interface AcpSetup extends LocalSetup {
  io: Pick<CliIo, "stdin" | "stdout" | "stderr">;
  /** The workspace of whoever names no device; null: `default`. */
  workspaceId: string | null;
  /** How a new session begins where the client does not say; null: as the door sees fit (W3). */
  beginning: "fresh" | "continue" | null;
  /** Mode of new sessions; null: `edit`. */
  mode: string | null;
  /** Aborts when the process is told to stop. */
  stop: AbortSignal;
}

export interface LocalEngine {
  client: AptoveClient;
  indexes: Indexes;
  /** Starts the HTTP door; resolves when it listens. Rejects with `address_unavailable`, whose cause is the system's error. */
  listen(at: { host: string; port: number }): Promise<Listening>;
  /** Lets running turns finish within the configured grace time, then interrupts the rest (R4). */
  close(): Promise<void>;
}

export type IndexSummary = Awaited<ReturnType<Indexes["index"]>>;
export type IndexInfo = Awaited<ReturnType<Indexes["list"]>>[number];

export interface Listening {
  /** Address with the port that was really taken, for example `http://127.0.0.1:4270`. */
  url: string;
}
