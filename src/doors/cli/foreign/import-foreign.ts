/** `aptove session import --from <tool>`: takes over conversations of another tool (O8). */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { foreignTools, addCounts, type ForeignTool } from "../../../domain/foreign.ts";
import { AptoveError, failureOf } from "../../../domain/errors.ts";
import { sessionName } from "../../../domain/session.ts";
import { findHistories, historyHome } from "../../../foreign/find-histories.ts";
import {
  historyImportLines,
  previewHistory,
  wholeFileBytesMax,
  type HistoryPreview,
} from "../../../foreign/read-history.ts";
import { confirmUnlessYes } from "../confirm.ts";
import { CommandFailed, exitCodes, UsageError, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { ProgressBar } from "../show/progress-bar.ts";

export interface ForeignImportOptions {
  from: string;
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export async function importForeign(
  invocation: CliInvocation,
  path: string | undefined,
  options: ForeignImportOptions,
): Promise<ExitCode> {
  const tool = foreignTools.find((one) => one === options.from);
  if (tool === undefined)
    throw new UsageError(`${options.from} is not known`, `name one of ${foreignTools.join(", ")}`);
  const previews = await previewsOf(invocation, tool, { path, all: options.all === true });
  if (!invocation.json) show(invocation, previews);
  if (options.dryRun === true) {
    if (invocation.json) invocation.output.json({ tool, conversations: previews.map(wirePreview) });
    return exitCodes.fine;
  }
  const question = `Import ${plural(previews.length, "conversation")} of ${tool}?`;
  if (!(await confirmUnlessYes(invocation, question, options))) return exitCodes.fine;
  return await importAll(invocation, tool, previews);
}

async function previewsOf(
  invocation: CliInvocation,
  tool: ForeignTool,
  { path, all }: { path: string | undefined; all: boolean },
): Promise<HistoryPreview[]> {
  const { env, cwd } = invocation.io;
  const place = path === undefined ? historyHome(tool, { home: env["HOME"] ?? homedir(), env }) : resolve(cwd, path);
  const found = findHistories(tool, place);
  if (found === null) {
    const how = `aptove session import <file or folder> --from ${tool}`;
    throw new UsageError(`${place} is not a file or folder`, `name where the histories of ${tool} are: ${how}`);
  }
  for (const link of found.links)
    invocation.output.note(`${invocation.output.safeNote(link)} is a link, and was left out`);
  const progress = new ProgressBar(invocation.output);
  const previews: HistoryPreview[] = [];
  for (const [at, file] of found.files.toReversed().entries()) {
    progress.update("reading", at, found.files.length);
    const preview = await previewHistory(tool, file);
    // What a person names is wanted, wherever it took place.
    const isWanted = all || path !== undefined || preview.facts.folder === cwd;
    if (preview.turns > 0 && preview.facts.spawnedBy === null && isWanted) previews.unshift(preview);
    if (preview.turns === 0 && path !== undefined && found.files.length === 1) throw noTurns(tool, preview);
    // Who names a folder, or wants all, misses a file that is not taken.
    if (preview.turns === 0 && (all || path !== undefined))
      invocation.output.note(`${invocation.output.safeNote(noTurns(tool, preview).message)}; it was left out`);
    if (!all && previews.length > 0) break;
  }
  progress.clear();
  if (previews.length > 0) return previews;
  const about = all || path !== undefined ? "" : ` about ${cwd}`;
  const fix = all ? `name a file or folder that ${tool} wrote` : "name its file, or give --all";
  throw new UsageError(`there is no conversation of ${tool}${about} in ${place}`, fix);
}

function noTurns(tool: ForeignTool, { path, facts, unmapped, bytes: size }: HistoryPreview): Error {
  const kinds = Object.keys(unmapped).slice(0, 3).join(", ") || "it has no turn";
  if (path.endsWith(".json") && size > wholeFileBytesMax) {
    const most = `its ${bytes(size)} are more than the ${bytes(wholeFileBytesMax)} that are read`;
    return new CommandFailed("import_invalid", `${path} is too long: ${most}`, "import a shorter conversation");
  }
  if (facts.version === null || facts.id === null) {
    const fix =
      "name a file that this tool wrote, or the tool that wrote this one; an export of aptove needs no --from";
    return new CommandFailed("import_invalid", `${path} is not a history of ${tool}`, fix);
  }
  return new AptoveError(
    "import_newer",
    `${tool} ${facts.version} wrote ${path} in a form that is not known: ${kinds}`,
  );
}

function show({ output }: CliInvocation, previews: readonly HistoryPreview[]): void {
  const left: Record<string, number> = {};
  for (const { facts, turns, subagentTurns, toolCalls, bytes: size, firstInstruction, unmapped } of previews) {
    const agents = subagentTurns === 0 ? "" : `, ${plural(subagentTurns, "turn")} of subagents`;
    const name = output.safe(facts.name ?? sessionName(firstInstruction));
    output.line(`${name}: ${plural(turns, "turn")}${agents}, ${plural(toolCalls, "tool call")}, ${bytes(size)}`);
    addCounts(left, unmapped);
  }
  const kinds = Object.entries(left).toSorted((a, b) => b[1] - a[1]);
  if (kinds.length === 0) return;
  output.line("Not turned into messages, but kept with the turns:");
  for (const [kind, count] of kinds) output.line(`  ${count} × ${output.safe(kind)}`);
}

function wirePreview({ path, facts, turns, subagentTurns, toolCalls, texts, bytes: size, unmapped }: HistoryPreview) {
  return { path, id: facts.id, version: facts.version, turns, subagentTurns, toolCalls, texts, bytes: size, unmapped };
}

async function importAll(
  invocation: CliInvocation,
  tool: ForeignTool,
  previews: readonly HistoryPreview[],
): Promise<ExitCode> {
  const client = await invocation.client();
  const { findWorkingCopy } = await import("../../../working-copy/git.ts");
  const { output } = invocation;
  const results: object[] = [];
  let failed = 0;
  for (const preview of previews) {
    const { folder } = preview.facts;
    const repo =
      folder === null
        ? null
        : await findWorkingCopy(folder).then(
            (copy) => copy.repo,
            () => null,
          );
    const lines = historyImportLines(tool, preview, { repo });
    const body = Readable.from(withBreaks(lines));
    try {
      const report = await client.sessions.import(Readable.toWeb(body) as ReadableStream<Uint8Array>);
      results.push({ path: preview.path, ...report });
      const { turnsImported, sessions } = report;
      const count = turnsImported === 0 ? "already here" : plural(turnsImported, "turn");
      if (!invocation.json) for (const { id, name } of sessions) output.line(`${id} ${output.safe(name)} (${count})`);
    } catch (error) {
      failed += 1;
      const { code, message } = failureOf(error);
      results.push({ path: preview.path, error: { code, message } });
      output.note(`${output.safeNote(preview.path)}: ${output.safeNote(message)} (${code})`);
    }
  }
  if (invocation.json) output.json({ tool, conversations: results });
  return failed > 0 ? exitCodes.failed : exitCodes.fine;
}

async function* withBreaks(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const line of lines) yield Buffer.from(`${line}\n`);
}
