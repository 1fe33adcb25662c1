/** `aptove session export | import`: sessions as files that any aptove reads, or as Markdown for people. */
import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AptoveClient, WireSession } from "../../../client/client.ts";
import { storageFaultCode } from "../../../domain/storage-fault.ts";
import { writePrivateStream } from "../../../system/durable-files.ts";
import type { CliInvocation } from "../invocation.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { namedSession, shortId, turnNumbered } from "../lookup/find-by-id.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

export interface ExportOptions {
  markdown?: boolean;
  output?: string;
  turn?: number;
}

export async function exportSession(
  invocation: CliInvocation,
  id: string | undefined,
  options: ExportOptions,
): Promise<ExitCode> {
  if (options.markdown === true && options.turn !== undefined) {
    throw new UsageError("--markdown and --turn contradict each other", "Markdown is exported for whole sessions only");
  }
  if (invocation.json && options.markdown === true && options.output === undefined) {
    throw new UsageError("--markdown and --json contradict each other", "write the Markdown to a file: --output");
  }
  const client = await invocation.client();
  const session = await namedSession(client, id, (await invocation.copy()).repo);
  const content = await contentOf(client, session, options);
  if (options.output === undefined) {
    await printAll(invocation, content);
    return exitCodes.fine;
  }
  const file = resolve(invocation.io.cwd, options.output);
  await writeWhole(file, content);
  const size = statSync(file).size;
  if (invocation.json) invocation.output.json({ file, bytes: size, sessionId: session.id });
  else invocation.output.line(`${file}: session ${shortId(session.id)}, ${bytes(size)}`);
  return exitCodes.fine;
}

async function contentOf(client: AptoveClient, session: WireSession, options: ExportOptions): Promise<Readable> {
  if (options.markdown === true) return Readable.from([Buffer.from(await client.sessions.markdown(session.id))]);
  const turnId = options.turn === undefined ? undefined : await turnNumbered(client, session, options.turn);
  const lines = await client.sessions.export(session.id, turnId === undefined ? {} : { turnId });
  return Readable.fromWeb(lines as Parameters<typeof Readable.fromWeb>[0]);
}

/** Writes as fast as the reader reads. A reader that stops early ends it without an error. A terminal gets nothing that deceives. */
async function printAll({ io, output }: CliInvocation, content: Readable): Promise<void> {
  if (output.isTerminal) {
    for await (const text of content.setEncoding("utf8") as AsyncIterable<string>) output.write(text);
    return;
  }
  try {
    await pipeline(content, io.stdout, { end: false });
  } catch (error) {
    if (!output.closed.aborted) throw error;
  }
}

/**
 * Writes the whole file or nothing: an error leaves the old file. The file may contain secrets, so only its owner can
 * read it.
 */
async function writeWhole(file: string, content: Readable): Promise<void> {
  try {
    await writePrivateStream(file, content);
  } catch (error) {
    throw writeFault(file, error);
  }
}

function writeFault(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  return new CommandFailed(
    storageFaultCode(error),
    `${file} cannot be written (${code})`,
    "name another file with --output",
  );
}

export async function importSessions(invocation: CliInvocation, from: string | undefined): Promise<ExitCode> {
  if (from === undefined) throw new UsageError("no file was named", "name a file, - for standard input, or --from");
  const file = resolve(invocation.io.cwd, from);
  // The client makes the data folder, which a mistyped name must not leave behind.
  if (from !== "-") checkFile(file);
  const client = await invocation.client();
  const source = from === "-" ? invocation.io.stdin : createReadStream(file);
  const report = await client.sessions.import(Readable.toWeb(source) as ReadableStream<Uint8Array>);
  const { output } = invocation;
  if (invocation.json) {
    output.json(report);
    return exitCodes.fine;
  }
  for (const { id, name, isNew } of report.sessions) {
    output.line(`${id} ${output.safe(name)}${isNew ? "" : " (already here)"}`);
  }
  const { turnsImported, turnsKnown, blobsImported } = report;
  output.note(
    `${plural(turnsImported, "turn")} in ${plural(blobsImported, "file")} imported, ${turnsKnown} already here`,
  );
  return exitCodes.fine;
}

/** Throws unless the path can be read from its beginning to its end: a file, or the pipe of a program that unpacks one. */
function checkFile(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() === true || stat?.isFIFO() === true) return;
  throw new UsageError(`${file} is not a file`, "name one that session export wrote");
}
