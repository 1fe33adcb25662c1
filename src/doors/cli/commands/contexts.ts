/** `aptove context list | show | set | history | delete` (G1). */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { AptoveApiError, type AptoveClient, type WireContext } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import { toFileKeys, toWireKeys } from "../../../protocol/context.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { contextToml, parseContextToml } from "../../../configuration/context-entry.ts";
import type { CliInvocation } from "../invocation.ts";
import { localTime } from "../show/explain.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";

interface Named {
  kind: WireContext["kind"];
  id: string;
}

/** The options as commander passes them. */
export interface SetOptions {
  file?: string;
  name?: string;
  provider?: string;
  model?: string;
  bootPrompt?: string;
  history?: string;
  retrieval?: string;
  expect?: number;
}

export async function listContexts(invocation: CliInvocation): Promise<ExitCode> {
  const contexts = await (await invocation.client()).contexts.list();
  if (invocation.json) {
    invocation.output.json({ contexts });
    return exitCodes.fine;
  }
  const rows = contexts.map((context) => [context.kind, context.id, sourceOf(context), context.content?.name ?? ""]);
  invocation.output.table(rows);
  return exitCodes.fine;
}

function sourceOf({ version, createdAt }: WireContext): string {
  if (version === null || createdAt === null) return "configuration";
  return `version ${version} of ${localTime(createdAt).slice(0, 16)}`;
}

export async function showContext(
  invocation: CliInvocation,
  { kind, id }: Named,
  { at }: { at?: number },
): Promise<ExitCode> {
  const client = await invocation.client();
  const context = await found(client.contexts.get(kind, id, withoutNullish({ version: at })));
  if (invocation.json) {
    invocation.output.json(context);
    return exitCodes.fine;
  }
  if (context.content === null) invocation.output.note(`retired by version ${context.version}`);
  else invocation.output.write(invocation.output.safe(`${contextToml(toFileKeys(context.content)).trimEnd()}\n`));
  return exitCodes.fine;
}

export async function setContext(
  invocation: CliInvocation,
  { kind, id }: Named,
  options: SetOptions,
): Promise<ExitCode> {
  const { file, expect, ...fields } = options;
  if ((file === undefined) === (Object.keys(fields).length === 0)) {
    throw new UsageError("a context is set from a file or by its keys", "give --file, or one of --name, --model, …");
  }
  refuseOfOther(kind, fields);
  const client = await invocation.client();
  const counts = await existing(client, { kind, id });
  const content =
    file === undefined
      ? { ...counts?.content, ...fields }
      : toWireKeys(parseContextToml(await readSource(invocation, file), file));
  const expectedVersion = expect ?? counts?.version ?? undefined;
  const written = await client.contexts.put(kind, id, { content, ...withoutNullish({ expectedVersion }) });
  if (invocation.json) invocation.output.json(written);
  else invocation.output.line(invocation.output.safe(`${kind} context ${id} is at version ${written.version}`));
  return exitCodes.fine;
}

/** Keys that only the other kind of context has. */
function refuseOfOther(kind: WireContext["kind"], fields: Omit<SetOptions, "file" | "expect">): void {
  const { name: _name, provider, ...ofConversation } = fields;
  const [other] = Object.keys(ofConversation);
  if (kind === "agent" && other !== undefined) {
    const option = other.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(`--${option} is for conversation contexts only`, "an agent context has --name and --provider");
  }
  if (kind === "conversation" && provider !== undefined) {
    throw new UsageError(
      "--provider is for agent contexts only",
      "set it there: aptove context set agent <id> --provider …",
    );
  }
}

/** Waits for an answer about a context. If there is no such context or version, the error says where they are listed. */
async function found<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof AptoveApiError) || error.code !== "not_found") throw error;
    const fix = "see them: aptove context list, and aptove context history <kind> <id>";
    throw new CommandFailed("not_found", error.detail, fix);
  }
}

/** Returns the context with this id. Null if there is none, so that a new one is created. */
async function existing(client: AptoveClient, { kind, id }: Named): Promise<WireContext | null> {
  try {
    return await client.contexts.get(kind, id);
  } catch (error) {
    if (error instanceof AptoveApiError && error.code === "not_found") return null;
    throw error;
  }
}

async function readSource(invocation: CliInvocation, file: string): Promise<string> {
  if (file === "-") return await textOf(invocation.io.stdin);
  try {
    return await readFile(resolve(invocation.io.cwd, file), "utf8");
  } catch {
    throw new UsageError(`--file ${file} cannot be read`, "give the path of a TOML file");
  }
}

export async function contextHistory(invocation: CliInvocation, { kind, id }: Named): Promise<ExitCode> {
  const client = await invocation.client();
  const versions = await found(client.contexts.versions(kind, id, { limit: limits.pageSizeMax }));
  if (invocation.json) {
    invocation.output.json({ versions });
    return exitCodes.fine;
  }
  const rows = versions.map(({ version, createdAt, createdBy, isRetired }) => [
    `version ${version}`,
    localTime(createdAt),
    `by ${createdBy}`,
    isRetired ? "retired" : "",
  ]);
  invocation.output.table(rows);
  if (versions.length === 0) invocation.output.note("this context is as the configuration has it; it was never edited");
  else if (versions.at(-1)?.version !== 1) invocation.output.note(`the newest ${limits.pageSizeMax} are shown`);
  return exitCodes.fine;
}

export async function retireContext(
  invocation: CliInvocation,
  { kind, id }: Named,
  options: { expect?: number },
): Promise<ExitCode> {
  const client = await invocation.client();
  const expected = withoutNullish({ expectedVersion: options.expect });
  const retired = await found(client.contexts.retire(kind, id, expected));
  if (invocation.json) invocation.output.json({ kind, id, ...retired });
  else invocation.output.line(invocation.output.safe(`${kind} context ${id} is retired (version ${retired.version})`));
  return exitCodes.fine;
}
