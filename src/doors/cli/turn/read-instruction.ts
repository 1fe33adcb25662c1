/** Reads the instruction of a turn from the arguments and from standard input. */
import { UsageError } from "../failure.ts";
import type { CliOutput } from "../output.ts";
import type { CliIo } from "../ports.ts";

/** How long to wait for the first byte of another program's open pipe if an instruction was given. */
const firstByteMs = 1_000;

/**
 * Reads the instruction: the argument, standard input, or both with a blank line between them. The argument `-` means
 * standard input, and waits for it without a limit.
 */
export async function readInstruction(io: CliIo, words: readonly string[], output: CliOutput): Promise<string> {
  const isGiven = words.some((word) => word !== "");
  const text = await readOptionalInstruction(io, isGiven || io.inputKind() === "none" ? words : ["-"], output);
  if (text !== "") return text;
  throw new UsageError("there is no instruction", 'give one: aptove ask "…"');
}

/** Reads the instruction where none is needed, for example for a rerun. Returns an empty text if there is none. */
export async function readOptionalInstruction(io: CliIo, words: readonly string[], output: CliOutput): Promise<string> {
  const argument = words.filter((word) => word !== "-").join(" ");
  const kind = io.inputKind();
  const mustRead = words.includes("-") || kind === "file";
  const piped = mustRead ? await readToEnd(io, words, output) : await readSoon(io, kind, output);
  return [argument, piped.trim()].filter((part) => part !== "").join("\n\n");
}

/** Reads standard input to its end. If it was not requested and stays silent, a note says what is waited for. */
async function readToEnd({ stdin }: CliIo, words: readonly string[], output: CliOutput): Promise<string> {
  if (words.includes("-")) return await readAll(stdin);
  const timer = setTimeout(() => output.note(waitingNote), firstByteMs);
  stdin.once("readable", () => clearTimeout(timer));
  try {
    return await readAll(stdin);
  } finally {
    clearTimeout(timer);
  }
}

const waitingNote = "waiting for the end of standard input, which belongs to the instruction; without it: </dev/null";

async function readAll(stdin: CliIo["stdin"]): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return decode(Buffer.concat(chunks));
}

/**
 * Reads standard input if it starts to send soon. A program that starts another one often leaves a pipe open and never
 * writes to it.
 */
async function readSoon(io: CliIo, kind: ReturnType<CliIo["inputKind"]>, output: CliOutput): Promise<string> {
  if (kind !== "socket") return "";
  const { stdin } = io;
  const hasStarted = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => done(false), firstByteMs);
    const onReadable = (): void => done(true);
    const done = (value: boolean): void => {
      clearTimeout(timer);
      for (const event of ["readable", "end"]) stdin.off(event, onReadable);
      resolve(value);
    };
    for (const event of ["readable", "end"]) stdin.on(event, onReadable);
  });
  if (hasStarted) return await readAll(stdin);
  stdin.destroy();
  output.note("warning: standard input is open but empty and is ignored; to wait for it, give the argument -");
  return "";
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError("standard input is not UTF-8 text", "name the file instead: --file path");
  }
}
