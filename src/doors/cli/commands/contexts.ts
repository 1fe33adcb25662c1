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
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";

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

export async function listContexts(call: CliInvocation): Promise<ExitCode> {
  const contexts = await (await call.client()).contexts.list();
  if (call.json) {
    call.output.json({ contexts });
    return exitCodes.fine;
  }
  const rows = contexts.map((context) => [context.kind, context.id, sourceOf(context), context.content?.name ?? ""]);
  call.output.table(rows);
  return exitCodes.fine;
}

function sourceOf({ version, createdAt }: WireContext): string {
  if (version === null || createdAt === null) return "configuration";
  return `version ${version} of ${localTime(createdAt).slice(0, 16)}`;
}

export async function showContext(
  call: CliInvocation,
  { kind, id }: Named,
  { at }: { at?: number },
): Promise<ExitCode> {
  const context = await (await call.client()).contexts.get(kind, id, withoutNullish({ version: at }));
  if (call.json) {
    call.output.json(context);
    return exitCodes.fine;
  }
  if (context.content === null) call.output.note(`retired by version ${context.version}`);
  else call.output.line(call.output.safe(contextToml(toFileKeys(context.content)).trimEnd()));
  return exitCodes.fine;
}

export async function setContext(call: CliInvocation, { kind, id }: Named, options: SetOptions): Promise<ExitCode> {
  const { file, expect, ...fields } = options;
  if ((file === undefined) === (Object.keys(fields).length === 0)) {
    throw new UsageError("a context is set from a file or by its keys", "give --file, or one of --name, --model, …");
  }
  refuseOfOther(kind, fields);
  const client = await call.client();
  const counts = await existing(client, { kind, id });
  const content =
    file === undefined
      ? { ...counts?.content, ...fields }
      : toWireKeys(parseContextToml(await readSource(call, file), file));
  const expectedVersion = expect ?? counts?.version ?? undefined;
  const written = await client.contexts.put(kind, id, { content, ...withoutNullish({ expectedVersion }) });
  if (call.json) call.output.json(written);
  else call.output.line(call.output.safe(`${kind} context ${id} is at version ${written.version}`));
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

/** Returns the context with this id. Null if there is none, so that a new one is created. */
async function existing(client: AptoveClient, { kind, id }: Named): Promise<WireContext | null> {
  try {
    return await client.contexts.get(kind, id);
  } catch (error) {
    if (error instanceof AptoveApiError && error.code === "not_found") return null;
    throw error;
  }
}

async function readSource(call: CliInvocation, file: string): Promise<string> {
  if (file === "-") return await textOf(call.io.stdin);
  try {
    return await readFile(resolve(call.io.cwd, file), "utf8");
  } catch {
    throw new UsageError(`--file ${file} cannot be read`, "give the path of a TOML file");
  }
}

export async function contextHistory(call: CliInvocation, { kind, id }: Named): Promise<ExitCode> {
  const client = await call.client();
  const versions = await client.contexts.versions(kind, id, { limit: limits.pageSizeMax });
  if (call.json) {
    call.output.json({ versions });
    return exitCodes.fine;
  }
  const rows = versions.map(({ version, createdAt, createdBy, isRetired }) => [
    `version ${version}`,
    localTime(createdAt),
    `by ${createdBy}`,
    isRetired ? "retired" : "",
  ]);
  call.output.table(rows);
  if (versions.at(-1)?.version !== 1) call.output.note(`the newest ${limits.pageSizeMax} are shown`);
  return exitCodes.fine;
}

export async function retireContext(
  call: CliInvocation,
  { kind, id }: Named,
  options: { expect?: number },
): Promise<ExitCode> {
  const client = await call.client();
  const retired = await client.contexts.retire(kind, id, withoutNullish({ expectedVersion: options.expect }));
  if (call.json) call.output.json({ kind, id, ...retired });
  else call.output.line(call.output.safe(`${kind} context ${id} is retired (version ${retired.version})`));
  return exitCodes.fine;
}
