/** Describes a session and a turn in text: what was retrieved, what was sent, what was left out and why. */
import type { WireSession, WireStep, WireTurn } from "../../../client/client.ts";
import { bytes, dollars, duration, firstLine, type CliOutput } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";
import { numberedName, shortId } from "../lookup/find-by-id.ts";
import { historyWords } from "./render-turn.ts";
import { knownTokens, lastState } from "./turn-end.ts";
import { directionWords } from "./usage-words.ts";

export function sessionLines(session: WireSession, output: CliOutput): string[] {
  const { bold } = output.style;
  const rows = [
    ["session", session.id],
    [session.otherRepos.length > 0 ? "repositories" : "repository", repositoriesOf(session)],
    ["contexts", `${contextName(session, "agent")}, ${contextName(session, "conversation")}`],
    ["turns", `${session.turnCount}, the last ${session.turnCount === 0 ? "not there yet" : lastState(session)}`],
    ["tokens", knownTokens(session)],
    ...(session.costUsd > 0 ? [["cost", dollars(session.costUsd)]] : []),
    ["last active", localTime(session.activeAt)],
    ...(session.archivedAt === null ? [] : [["archived", localTime(session.archivedAt)]]),
  ];
  return [bold(output.safe(session.name)), ...output.rows(rows)];
}

function repositoriesOf({ repo, otherRepos }: WireSession): string {
  return repo === null ? "none" : [repo, ...otherRepos].join(", ");
}

function contextName(session: WireSession, kind: "agent" | "conversation"): string {
  const id = kind === "agent" ? session.agentContextId : session.conversationContextId;
  const name = kind === "agent" ? session.agentContextName : session.conversationContextName;
  return `${kind} ${name ?? `${id} (no longer configured)`}`;
}

/** Formats a time as `2026-02-15 10:30:00`, in the time zone of this machine. */
export function localTime(iso: string): string {
  const time = new Date(iso);
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/**
 * Describes everything that the model was given in a turn, from the turn's record. `partOfAnswer` is the text that a failed turn has, or
 * empty.
 */
export function turnLines(turn: WireTurn, output: CliOutput, partOfAnswer = ""): string[] {
  const { bold, red } = output.style;
  const facts = [
    turnFacts(turn),
    `instruction: ${firstLine(turn.instructionSummary, 100)}`,
    ...((turn.answerSummary ?? "") === "" ? [] : [`answer: ${firstLine(turn.answerSummary ?? "", 100)}`]),
    ...partWords(turn, partOfAnswer),
    `contexts: ${contextWords("agent", turn.manifest.agentContext)}, ${contextWords("conversation", turn.manifest.conversationContext)}`,
    historyWords(turn.manifest.history, turn.manifest.historyTurns),
    ...placeFacts(turn),
  ];
  const sections: Section[] = [
    { title: retrievedTitle(turn), rows: chunkRows(turn), whenEmpty: "nothing" },
    { title: "files", rows: fileRows(turn), whenEmpty: null },
    { title: "pinned", rows: pinRows(turn), whenEmpty: null },
    { title: "rules", rows: rulesRows(turn), whenEmpty: null },
    { title: "memory", rows: factRows(turn), whenEmpty: null },
    { title: "skills", rows: skillRows(turn), whenEmpty: null },
    { title: "input", rows: inputRows(turn), whenEmpty: null },
    { title: "skipped", rows: skippedRows(turn), whenEmpty: null },
    { title: "warnings", rows: warningRows(turn), whenEmpty: null },
    { title: "waits for", rows: callRows(turn), whenEmpty: null },
    { title: "model calls", rows: turn.steps.map(stepRow), whenEmpty: null },
  ];
  return [
    `${bold(`turn ${turn.sequence}`)}  ${turn.id}`,
    ...facts.flatMap((fact) => output.rows([["", fact]])),
    ...failureWords(turn).flatMap((words) => output.rows([["", words]]).map((line) => red(line))),
    ...sections.flatMap((section) => sectionLines(output, section)),
  ];
}

function partWords(turn: WireTurn, text: string): string[] {
  if (text === "") return [];
  return [`output so far: ${firstLine(text, 100)}`, `all of it: aptove session show ${numberedName(turn)} --answer`];
}

function pinRows({ manifest: { pins = [] } }: WireTurn): string[][] {
  return pins.map(({ turnId, part, from, to, contentHash, given, wasSent }) => [
    `turn ${shortId(turnId)}`,
    part === "turn" ? "instruction and answer" : part,
    `characters ${from}-${to}`,
    contentHash.slice(0, 8),
    given === "turn" ? "the model has the turn" : `beside the summary${wasSent ? "" : ", from an earlier turn"}`,
  ]);
}

/** Lists the rules of the repository: those of the boot prompt, and what notes have brought since then. */
function rulesRows({ manifest: { rules } }: WireTurn): string[][] {
  const first = (rules?.files ?? []).map(({ path, sizeBytes }) => [path, bytes(sizeBytes), "in the boot prompt"]);
  const changed = (rules?.changed ?? []).map(({ path, contentHash, wasSent }) => {
    const what = contentHash === "" ? "no longer counts" : "new or changed";
    return [path, "", `${what}, ${wasSent ? "in the note of this turn" : "in an earlier note"}`];
  });
  return [...first, ...changed];
}

/** Lists the facts of the workspace's memory that the model had. */
function factRows({ manifest: { facts = [] } }: WireTurn): string[][] {
  return facts.map(({ id, contentHash, sourceTurnId, wasSent }) => [
    wasSent ? "sent" : "not sent",
    id,
    contentHash.slice(0, 8),
    sourceTurnId === null ? "written by a person" : `from turn ${sourceTurnId.slice(-8)}`,
    wasSent ? "" : "the model has it from an earlier turn",
  ]);
}

/** Lists the skills that were offered, and the files of skills that the model read. */
function skillRows({ manifest: { skills } }: WireTurn): string[][] {
  const { offered = [], wasSent, read = [] } = skills ?? {};
  const how = wasSent === true ? "offered" : "offered in an earlier turn";
  return [
    ...offered.map(({ name, source, path, contentHash }) => [name, `${source}: ${path}`, contentHash.slice(0, 8), how]),
    ...read.map(({ name, path, contentHash }) => [name, path, contentHash.slice(0, 8), "read"]),
  ];
}

function placeFacts({ manifest: { place } }: WireTurn): string[] {
  if (place === undefined) return [];
  const { folder, branch, platform, date, modifiedFiles, wasSent } = place;
  const parts = [folder, ...(branch === null ? [] : [`branch ${branch}`]), platform, date];
  if (modifiedFiles !== null) parts.push(`${plural(modifiedFiles, "file")} modified`);
  return [`place: ${parts.join(", ")}${wasSent ? "" : " (the model has it from an earlier turn)"}`];
}

function inputRows({ input }: WireTurn): string[][] {
  return input.map(({ name, mediaType, bytes: size, mode }) => [
    name,
    mediaType,
    size === null ? "named only" : bytes(size),
    mode === "inline" ? "in the context" : "read with a tool",
  ]);
}

function contextWords(kind: string, { id, version, hash }: WireTurn["manifest"]["agentContext"]): string {
  return `${kind} ${id} ${version === undefined ? `(configuration, ${hash.slice(0, 8)})` : `version ${version}`}`;
}

function turnFacts(turn: WireTurn): string {
  const parts = [turn.status as string];
  if (turn.stopReason !== null && turn.stopReason !== "stop") parts.push(turn.stopReason);
  parts.push(localTime(turn.createdAt), `${turn.provider} ${turn.model}`, `mode ${turn.mode}`);
  if (turn.run !== null) {
    const { usage, durationMs } = turn.run;
    parts.push(duration(durationMs), ...directionWords(usage));
  }
  return parts.join(" · ");
}

function failureWords(turn: WireTurn): string[] {
  return turn.failures.map((failure) => `failed: ${failure.message} (${failure.code})`);
}

interface Section {
  title: string;
  rows: string[][];
  /** What stands for a section without rows. Null: it is left out. */
  whenEmpty: string | null;
}

function sectionLines(output: CliOutput, { title, rows, whenEmpty }: Section): string[] {
  if (rows.length === 0) return whenEmpty === null ? [] : [`  ${title}: ${whenEmpty}`];
  return [`  ${title}`, ...output.rows(rows, { indent: 4 }).map((row) => `    ${row}`)];
}

function retrievedTitle({ manifest }: WireTurn): string {
  return manifest.searchWasKept === true ? "retrieved, as an earlier search found it" : "retrieved";
}

function chunkRows(turn: WireTurn): string[][] {
  return turn.manifest.chunks.map((chunk) => [
    chunk.wasSent ? "sent" : "not sent",
    `${chunk.path}:${chunk.startLine}-${chunk.endLine}`,
    [
      ...(chunk.document === undefined ? [] : ["attached"]),
      ...(chunk.wasSent ? [] : [chunkReason(chunk.notSentBecause)]),
    ].join(", "),
  ]);
}

const chunkReasons = {
  already_sent: "the model has it from an earlier turn",
  active_file: "the model has the whole file",
  outdated: "the working copy has another version of the file",
  deleted: "the file does not exist any more",
} as const;

function chunkReason(reason: keyof typeof chunkReasons | undefined): string {
  return reason === undefined ? "there was no room for it" : chunkReasons[reason];
}

function fileRows(turn: WireTurn): string[][] {
  return turn.manifest.activeFiles.map((file) => [
    file.wasSentToLLM ? "sent" : "not sent",
    file.path,
    file.sizeBytes === null ? "" : bytes(file.sizeBytes),
    [file.isTouched ? "modified" : "named", ...fileReason(file)].join(", "),
  ]);
}

function fileReason(file: WireTurn["manifest"]["activeFiles"][number]): string[] {
  if (file.wasSentToLLM) return [];
  return [file.wasTooLargeToSend ? "too large to send" : "unchanged since it was sent"];
}

function skippedRows(turn: WireTurn): string[][] {
  return turn.manifest.skippedFiles.map(({ path, reason, sizeBytes }) => {
    const size = sizeBytes === null ? "" : bytes(sizeBytes);
    return [path, size, skipReasons[reason]];
  });
}

const skipReasons = {
  too_large: "larger than 100 KB",
  over_budget: "it did not fit into the budget for files",
  content_missing: "its content was not sent with it, and never before",
  deleted: "it does not exist any more",
  outdated: "it changed; the message says that the version before no longer counts",
} as const;

function warningRows(turn: WireTurn): string[][] {
  return turn.warnings.map((warning) => [warning.code, warning.message]);
}

function callRows(turn: WireTurn): string[][] {
  return turn.deferredCalls.map((call) => [call.callId, call.name, firstLine(call.arguments, 60), call.waitsFor]);
}

function stepRow(step: WireStep): string[] {
  return [
    String(step.index),
    step.status === "completed" ? (step.stopReason ?? "") : `failed: ${step.failure?.code ?? ""}`,
    `${bytes(step.requestBytes)} sent`,
    directionWords(step.usage).join(", "),
    step.previousResponseId === null ? "whole history" : `continues ${step.previousResponseId}`,
  ];
}

/** Formats the counts of one turn for a line of the log. */
export function turnCounts(turn: WireTurn): string {
  const { chunks, activeFiles, skippedFiles } = turn.manifest;
  const sentChunks = chunks.filter((chunk) => chunk.wasSent).length;
  const sentFiles = activeFiles.filter((file) => file.wasSentToLLM).length;
  const parts = [`${chunks.length} retrieved, ${sentChunks} sent`];
  if (activeFiles.length > 0) parts.push(`${plural(activeFiles.length, "file")}, ${sentFiles} sent`);
  if (skippedFiles.length > 0) parts.push(`${skippedFiles.length} skipped`);
  if (turn.warnings.length > 0) parts.push(turn.warnings.map((warning) => warning.code).join(", "));
  return parts.join(" · ");
}
