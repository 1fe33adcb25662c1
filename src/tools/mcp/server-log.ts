/**
 * What one server wrote to its standard error and what became of it, in `<folder>/<server>.log`: bounded, with the
 * one before it kept as `.log.1`, readable by its owner only (P5, B6).
 */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../domain/limits.ts";

export interface ServerLog {
  /** One line about the connection, with its time. */
  event(text: string): void;
  /** Lines of the server itself. */
  said(text: string): void;
}

export interface ServerLogRequest {
  /** Null: nothing is kept. */
  folder: string | null;
  /** Without what a path must not have. */
  name: string;
  hide(text: string): string;
  now(): number;
}

export function serverLog({ folder, name, hide, now }: ServerLogRequest): ServerLog {
  if (folder === null) return { event: () => undefined, said: () => undefined };
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
      // A full disk, or a folder that was taken away: a log is no reason to fail.
      isBroken = true;
    }
  };
  return {
    event: (text) => write(`${new Date(now()).toISOString()} ${hide(text).replaceAll(/\s*\n\s*/g, " ")}\n`),
    said: (text) => write(hide(text).slice(-limits.mcpLogBytesMax)),
  };
}

/** Gives its size, in bytes. */
function openLog(folder: string, file: string): number {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
