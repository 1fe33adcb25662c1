/** Reads a secret that a person types. The terminal does not show it. */
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { Writable } from "node:stream";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, UsageError } from "../failure.ts";
import { StoppedAtOnce } from "../stop-signals.ts";

const bytesMax = 65_536;

/** Returns the secret without blanks at its ends. Without a terminal it is standard input. */
export async function readSecret({ io }: CliInvocation, question: string): Promise<string> {
  if (io.stdin.isTTY === true) return (await typed(io, question)).trim();
  const fix = "run it in a terminal, or pipe the key to it";
  if (io.inputKind() === "none") throw new UsageError("there is no terminal to ask for the key", fix);
  const given = await text(io.stdin);
  if (given.length > bytesMax) throw new UsageError("standard input is no key", fix);
  return given.trim();
}

async function typed(io: CliInvocation["io"], question: string): Promise<string> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: io.stdin, output: nothing, terminal: true, historySize: 0 });
  io.stderr.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      reader.once("line", resolve);
      reader.once("SIGINT", () => reject(new StoppedAtOnce("no key was entered")));
      reader.once("close", () => reject(new CommandFailed("usage", "no key was entered", "run the command again")));
    });
  } finally {
    reader.close();
    io.stderr.write("\n");
  }
}
