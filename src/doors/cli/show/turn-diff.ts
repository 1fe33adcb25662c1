/** Compares two turns in text: what the model saw differently, and what it answered (D1). */
import type { AptoveClient, WireTurnDiff } from "../../../client/client.ts";
import { paintPatch } from "./paint-patch.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { firstLine, type CliOutput } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { type ExitCode, exitCodes } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";

/**
 * Returns the lines of a comparison. `width` is the width of a line in characters, to set the texts side by side. Null
 * sets one below the other, as a patch.
 */
export async function turnDiffLines(diff: WireTurnDiff, width: number | null, output: CliOutput): Promise<string[]> {
  const { red, green } = output.style;
  const text = (title: "instruction" | "answer"): Promise<string[]> =>
    textSection({ title, a: diff.a[title], b: diff.b[title] }, width, output);
  return [
    red(output.safe(`- ${sideLine(diff.a)}`)),
    green(output.safe(`+ ${sideLine(diff.b)}`)),
    ...historyLines(diff.history, output),
    ...givenLines(diff, output),
    ...(await text("instruction")),
    ...(await text("answer")),
  ];
}

function sideLine(side: WireTurnDiff["a"]): string {
  const { turnId, sessionId, sessionName, sequence, status, provider, model, mode } = side;
  const session = `${shortId(sessionId)} "${sessionName}"`;
  return `turn ${shortId(turnId)}, ${sequence} of ${session} · ${status} · ${provider} ${model} · mode ${mode}`;
}

function heading(title: string, rest: string, output: CliOutput): string {
  return output.style.bold(title) + (rest === "" ? "" : `: ${rest}`);
}

function historyLines(history: WireTurnDiff["history"], output: CliOutput): string[] {
  const { commonTurnId, commonTurns, onlyA, onlyB } = history;
  const shared =
    commonTurnId === null
      ? "no turn in common"
      : `${plural(commonTurns, "turn")} in common, to ${shortId(commonTurnId)}`;
  const line = (turn: (typeof onlyA)[number]): string =>
    `${shortId(turn.turnId)} ${turn.depth} ${firstLine(turn.instructionSummary, 80)}`;
  return [heading("history", shared, output), ...marked(onlyA.map(line), onlyB.map(line), output)];
}

/** Marks the lines that only one side has, as in a patch. */
function marked(onlyA: string[], onlyB: string[], output: CliOutput): string[] {
  const { red, green } = output.style;
  return [
    ...onlyA.map((line) => red(output.safe(`- ${line}`))),
    ...onlyB.map((line) => green(output.safe(`+ ${line}`))),
  ];
}

/** Compares everything beside instruction and history: one line for what is equal, one for each difference. */
function givenLines(diff: WireTurnDiff, output: CliOutput): string[] {
  const { a, b, same } = diff;
  const things: [string, boolean, [string, string]?][] = [
    ["boot prompt", same.prompt],
    ["tools", same.tools],
    ["model", same.model, [`${a.provider} ${a.model}`, `${b.provider} ${b.model}`]],
    ["settings", same.settings, [settingsText(a.settings), settingsText(b.settings)]],
    ["mode", same.mode, [a.mode, b.mode]],
    ["conversation context", same.conversationContext],
    ["agent context", same.agentContext],
    // Differences are listed one by one below.
    ...(same.rules ? [["rules", true] satisfies [string, boolean]] : []),
    ...(same.skills ? [["skills", true] satisfies [string, boolean]] : []),
    ...(same.facts ? [["memory", true] satisfies [string, boolean]] : []),
    ["place", same.place, [placeText(a.place), placeText(b.place)]],
  ];
  const equal = things.filter(([, isSame]) => isSame).map(([name]) => name);
  const { yellow } = output.style;
  const differing = things.filter(([, isSame]) => !isSame);
  return [
    ...(equal.length === 0 ? [] : [heading("unchanged", equal.join(", "), output)]),
    ...differing.flatMap(([name, , values]) => [
      `${yellow(name)} ${values === undefined ? "differs" : "differs:"}`,
      ...(values === undefined ? [] : marked([values[0]], [values[1]], output)),
    ]),
    ...chunkLines(diff.chunks, output),
    ...fileLines("rules", diff.rules, output),
    ...fileLines("skills", diff.skills, output),
    ...fileLines("memory", diff.facts, output),
    ...fileLines("files", diff.files, output),
  ];
}

function settingsText(settings: WireTurnDiff["a"]["settings"]): string {
  const pairs = Object.entries(settings).map(([key, value]) => `${key} ${value}`);
  return pairs.length === 0 ? "none" : pairs.join(", ");
}

function chunkLines(chunks: WireTurnDiff["chunks"], output: CliOutput): string[] {
  if (chunks.length === 0) return [];
  const { red, green, yellow } = output.style;
  const lines = chunks.map(({ path, startLine, endLine, change }) => {
    const place = output.safe(`${path}:${startLine}-${endLine}`);
    if (change === "only_a") return red(`- ${place}`);
    return change === "only_b" ? green(`+ ${place}`) : yellow(`~ ${place} has different content`);
  });
  return [heading("retrieved", plural(chunks.length, "difference"), output), ...lines];
}

function placeText(place: WireTurnDiff["a"]["place"]): string {
  if (place === null) return "unknown to the model";
  const { folder, branch, date, platform } = place;
  return [folder, ...(branch === null ? [] : [`branch ${branch}`]), date, platform].join(", ");
}

type FileKind = "files" | "rules" | "skills" | "memory";

function fileLines(title: FileKind, files: WireTurnDiff["files"], output: CliOutput): string[] {
  if (files.length === 0) return [];
  const { red, green, yellow } = output.style;
  const lines = files.map(({ path, hashA, hashB }) => {
    const name = output.safe(path);
    if (hashB === null) return red(`- ${name} ${hashA?.slice(0, 8)}`);
    if (hashA === null) return green(`+ ${name} ${hashB.slice(0, 8)}`);
    return yellow(`~ ${name} ${hashA.slice(0, 8)} → ${hashB.slice(0, 8)}`);
  });
  return [heading(title, plural(files.length, "difference"), output), ...lines];
}

interface Texts {
  title: string;
  a: string;
  b: string;
}

async function textSection({ title, a, b }: Texts, width: number | null, output: CliOutput): Promise<string[]> {
  if (a === b) return [heading(title, "unchanged", output)];
  const lines = width === null ? await patch(a, b, output) : await columnsOf(a, b, { width, output });
  return [heading(title, "", output), ...lines];
}

/** Texts that differ so much that a comparison takes longer are printed in full. */
const compareMs = 2_000;

async function patch(a: string, b: string, output: CliOutput): Promise<string[]> {
  const { createTwoFilesPatch } = await import("diff");
  // An answer does not end with a line feed. Without one, each patch would mention that.
  const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const options = { context: 3, timeout: compareMs };
  const text = createTwoFilesPatch("a", "b", ended(a), ended(b), undefined, undefined, options);
  if (text === undefined) return marked(a.split("\n"), b.split("\n"), output);
  // The lines before the first hunk name files, and these texts are no files.
  return paintPatch(text.slice(Math.max(0, text.indexOf("@@"))), output);
}

async function columnsOf(
  a: string,
  b: string,
  { width, output }: { width: number; output: CliOutput },
): Promise<string[]> {
  const { sideBySide } = await import("./side-by-side.ts");
  const { red, green, yellow } = output.style;
  return sideBySide(output.safe(a), output.safe(b), width).map(({ left, mark, right }) =>
    mark === " " ? `${left}   ${right}` : `${red(left)} ${yellow(mark)} ${green(right)}`,
  );
}

export async function showTurnDiff(
  invocation: CliInvocation,
  client: AptoveClient,
  { a, b, sideBySide }: { a: string; b: string; sideBySide: boolean },
): Promise<ExitCode> {
  const { output } = invocation;
  const diff = await client.turns.diff(a, b);
  if (invocation.json) output.json(diff);
  else for (const line of await turnDiffLines(diff, sideBySide ? output.width : null, output)) output.line(line);
  return exitCodes.fine;
}

/** Returns the turn and the one to compare it with: the one that it repeats, or else the one that it continues. Null: there is none. */
export async function pairOf(client: AptoveClient, turnId: string): Promise<{ a: string; b: string } | null> {
  const { id, rerunOf, parentId } = await client.turns.summary(turnId);
  const other = rerunOf ?? parentId;
  return other === null ? null : { a: other, b: id };
}
