/** `aptove memory list | show | add | edit | forget` (M3). */
import { text as textOf } from "node:stream/consumers";
import type { AptoveClient, WireFact, WireForgotten } from "../../../client/client.ts";
import { isFactId } from "../../../domain/fact.ts";
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { findTurnId, nullIfNotFound, shortId } from "../lookup/find-by-id.ts";
import { namedWorkspace } from "../lookup/named-workspace.ts";
import { firstLine } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { localTime } from "../show/explain.ts";

/** The options as commander passes them. */
export interface MemoryOptions {
  workspace?: string;
}

export async function listFacts(invocation: CliInvocation, options: MemoryOptions): Promise<ExitCode> {
  const { client, workspaceId } = await memoryOf(invocation, options);
  const { facts, faults } = await client.memory.list(workspaceId);
  const { output } = invocation;
  if (invocation.json) {
    output.json({ workspaceId, facts, faults });
    return exitCodes.fine;
  }
  if (facts.length === 0) output.note(`nothing is remembered; add a fact: aptove memory add "…"`);
  output.table(facts.map((fact) => [fact.id, timeOf(fact), firstLine(fact.text, 100)]));
  for (const { name, reason } of faults) output.note(output.safeNote(`not used: ${name}: ${reason}`));
  return exitCodes.fine;
}

function timeOf({ createdAt }: WireFact): string {
  return createdAt === null ? "" : localTime(createdAt).slice(0, 16);
}

export async function showFact(invocation: CliInvocation, text: string, options: MemoryOptions): Promise<ExitCode> {
  const memory = await memoryOf(invocation, options);
  const fact = await foundFact(memory, text);
  const { output } = invocation;
  if (invocation.json) {
    output.json(fact);
    return exitCodes.fine;
  }
  const { source } = fact;
  output.table([
    ["fact", fact.id],
    ...(fact.createdAt === null ? [] : [["written", localTime(fact.createdAt)]]),
    ["from", source === null ? "a person" : `turn ${source.turnId} of session ${source.sessionId}`],
  ]);
  output.line("");
  output.write(`${fact.text}\n`);
  return exitCodes.fine;
}

export async function addFact(
  invocation: CliInvocation,
  words: readonly string[],
  options: MemoryOptions & { turn?: string },
): Promise<ExitCode> {
  const { client, workspaceId } = await memoryOf(invocation, options);
  const text = await wordsOf(invocation, words);
  const turn =
    options.turn === undefined ? null : await findTurnId(client, options.turn, (await invocation.copy()).repo);
  const fact = await client.memory.add(workspaceId, { text, ...(turn !== null && { sourceTurnId: turn }) });
  if (invocation.json) invocation.output.json(fact);
  else invocation.output.line(fact.id);
  return exitCodes.fine;
}

export async function editFact(
  invocation: CliInvocation,
  { fact: named, words }: { fact: string; words: readonly string[] },
  options: MemoryOptions,
): Promise<ExitCode> {
  const memory = await memoryOf(invocation, options);
  const before = await foundFact(memory, named);
  const text = await wordsOf(invocation, words);
  const fact = await memory.client.memory.change(memory.workspaceId, before.id, { text, expectedHash: before.hash });
  if (invocation.json) invocation.output.json(fact);
  else invocation.output.line(`${fact.id} changed`);
  return exitCodes.fine;
}

/** Returns the words of the command. `-` alone stands for standard input. */
async function wordsOf(invocation: CliInvocation, words: readonly string[]): Promise<string> {
  const isPiped = words.length === 1 && words[0] === "-";
  const text = isPiped ? await textOf(invocation.io.stdin) : words.join(" ");
  if (text.trim() === "") throw new UsageError("the text of the fact is empty", 'give it: aptove memory add "…"');
  return text;
}

export async function forgetFact(
  invocation: CliInvocation,
  text: string,
  options: MemoryOptions & ConfirmOptions,
): Promise<ExitCode> {
  const memory = await memoryOf(invocation, options);
  const { output } = invocation;
  const fact = await knownFact(memory, text);
  // A fact that is forgotten already can still be asked for: the turns that had it are named again.
  const id = fact?.id ?? text;
  const question = fact === null ? null : `forget ${id} "${output.safeNote(firstLine(fact.text, 60))}" permanently?`;
  if (question !== null && !(await confirmUnlessYes(invocation, question, options))) return exitCodes.failed;
  const forgotten = (await nullIfNotFound(memory.client.memory.forget(memory.workspaceId, id))) ?? notFound(text);
  if (invocation.json) output.json(forgotten);
  else for (const line of forgottenLines(id, forgotten)) output.line(line);
  return exitCodes.fine;
}

function forgottenLines(id: string, { ids, turns, turnsOfOthers }: WireForgotten): string[] {
  const what = ids.length === 0 ? `${id} was forgotten before` : `forgot ${ids.join(", ")}`;
  const given = turns.filter(({ isSource }) => !isSource).length;
  if (turns.length === 0 && turnsOfOthers === 0) return [`${what}; no turn was given it`];
  const sessions = Map.groupBy(turns, ({ sessionId }) => sessionId);
  return [
    `${what}; ${given === 0 ? "no turn" : plural(given, "turn")} of yours ${given === 1 || given === 0 ? "was" : "were"} given it`,
    ...[...sessions].map(([sessionId, all]) => `  session ${shortId(sessionId)}: ${all.map(turnWords).join(", ")}`),
    ...(turnsOfOthers === 0 ? [] : [`  sessions of other people: ${plural(turnsOfOthers, "turn")}`]),
    "these turns keep what they had; to delete them too: aptove session delete <session>, then session purge <session>",
  ];
}

function turnWords({ sequence, isSource }: WireForgotten["turns"][number]): string {
  return `turn ${sequence}${isSource ? " (it came from there)" : ""}`;
}

interface MemoryOfWorkspace {
  client: AptoveClient;
  workspaceId: string;
}

async function memoryOf(invocation: CliInvocation, { workspace }: MemoryOptions): Promise<MemoryOfWorkspace> {
  return { client: await invocation.client(), workspaceId: await namedWorkspace(invocation, workspace) };
}

/** Returns the only fact whose id is or begins with the text. Null: there is none. */
async function knownFact({ client, workspaceId }: MemoryOfWorkspace, text: string): Promise<WireFact | null> {
  const { facts } = await client.memory.list(workspaceId);
  const exact = facts.find(({ id }) => id === text);
  const begun = exact === undefined ? facts.filter(({ id }) => id.startsWith(text)) : [exact];
  if (begun.length > 1) {
    throw new UsageError(
      `"${text}" fits several facts: ${begun.map(({ id }) => id).join(", ")}`,
      "give more of the id",
    );
  }
  if (begun.length === 0 && !isFactId(text)) notFound(text);
  return begun[0] ?? null;
}

async function foundFact(memory: MemoryOfWorkspace, text: string): Promise<WireFact> {
  return (await knownFact(memory, text)) ?? notFound(text);
}

function notFound(text: string): never {
  throw new CommandFailed("not_found", `there is no fact ${JSON.stringify(text)}`, "see: aptove memory list");
}
