/**
 * Logs one server's standard error and the events of its connection, in `<folder>/<server>.log`. The log is bounded, the
 * previous one is kept as `.log.1`, and only its owner can read it (P5, B6).
 */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../domain/limits.ts";
import { shownLines } from "../shown-text.ts";

export interface ServerLog {
  /** Writes one line about the connection, with its time. */
  event(text: string): void;
  /** Writes output of the server's standard error. */
  stderr(text: string): void;
}

export interface ServerLogRequest {
  /** The folder of the log. Null: no log is kept. */
  folder: string | null;
  /** The file name without `.log`. It has no character that is not allowed in a path. */
  name: string;
  hide(text: string): string;
  now(): number;
}

export function serverLog({ folder, name, hide, now }: ServerLogRequest): ServerLog {
  if (folder === null) return { event: () => undefined, stderr: () => undefined };
  const file = join(folder, `${name}.log`);
  let size: number | null = null;
  let isBroken = false;
  const write = (text: string): void => {
    if (isBroken) return;
    try {
      size ??= openLog(folder, file);
      if (size > 0 && size + text.length > limits.mcpLogBytesMax) {
        renameSync(file, `${file}.1`);
        size = 0;
      }
      appendFileSync(file, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    } catch {
      // The disk is full, or the folder was deleted. A log must not make the session fail.
      isBroken = true;
    }
  };
  return {
    event: (text) => write(`${new Date(now()).toISOString()} ${shownLines(hide(text)).replaceAll(/\s*\n\s*/g, " ")}\n`),
    // A person reads the log in a terminal, and the server wrote it.
    stderr: (text) => write(shownLines(hide(text)).slice(-limits.mcpLogBytesMax)),
  };
}

/** Makes the folder. Returns the size of the log in bytes. */
function openLog(folder: string, file: string): number {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
