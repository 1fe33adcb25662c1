/** The command line's output, for tests of code that only makes lines. It is no terminal, unless its variables say so. */
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { CliOutput } from "../src/doors/cli/output.ts";

export function plainOutput(env: Record<string, string> = {}): CliOutput {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const io = { ...streams, env, cwd: "/", signals: new EventEmitter(), inputKind: () => "none" as const };
  return new CliOutput(io, { color: true });
}
