/** The demo's output: headings, commands with their output, requests as they were sent, and claims. */
import { stripVTControlCharacters } from "node:util";
import pc from "picocolors";
import type { FakeRequest } from "../../testing/fake-openai/fake-openai.ts";
import type { Ran } from "./stage.ts";

const colors = pc.createColors(process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined);

/** Writes one line. On a terminal, a line that is too long is broken between words. */
function print(line: string): void {
  const { isTTY, columns } = process.stdout;
  console.log(isTTY ? folded(line, columns) : line);
}

/** Continues a long line below its own indent. A word that is longer than the terminal is left to the terminal. */
function folded(line: string, columns: number): string {
  const indent = " ".repeat(plain(line).search(/\S|$/) + 2);
  const [first = "", ...words] = line.split(/(?<=\S) (?=\S)/);
  let at = plain(first).length;
  let text = first;
  for (const word of words) {
    const cells = plain(word).length;
    const fits = at + 1 + cells <= columns;
    text += fits ? ` ${word}` : `\n${indent}${word}`;
    at = (fits ? at + 1 : indent.length) + cells;
  }
  return text;
}

let chapters = 0;
const broken: string[] = [];

export function chapter(title: string): void {
  chapters += 1;
  print(`\n${colors.bold(colors.cyan(`${chapters}. ${title}`))}`);
}

export function say(text: string): void {
  print(colors.dim(text));
}

export function command(text: string, ran?: Ran): void {
  print(`${colors.green("$")} ${colors.bold(text)}`);
  if (ran !== undefined) printed(ran.stdout + ran.stderr);
}

export function printed(text: string): void {
  for (const line of text.trimEnd().split("\n")) print(`  ${line}`);
}

/** Checks a claim of the story. The demo ends with 0 only if every claim is true. */
export function claim(text: string, isTrue: boolean): void {
  print(isTrue ? `${colors.green("✔")} ${text}` : `${colors.red("✘")} ${colors.red(text)}`);
  if (!isTrue) broken.push(text);
}

/** A request as the provider got it, each text cut to its first line. */
export function showRequest(request: FakeRequest): void {
  const body = JSON.parse(request.raw.toString()) as Record<string, unknown>;
  const refused =
    request.refusal === null ? "" : colors.red(`  → ${request.refusal.status} ${request.refusal.body.error.code}`);
  print(colors.yellow(`  → POST ${request.path}  ${request.raw.length} bytes${refused}`));
  for (const key of ["model", "store", "previous_response_id"]) {
    if (body[key] !== undefined) print(`      ${key}: ${String(body[key])}`);
  }
  for (const item of body["input"] as WireItem[]) {
    const content = typeof item.content === "string" ? [{ text: item.content }] : (item.content ?? []);
    const texts = content.map((part) => shorten(part.text ?? ""));
    print(`      ${item.role ?? item.type ?? "?"}: ${texts.join(colors.dim("  |  "))}`);
  }
}

interface WireItem {
  role?: string;
  type?: string;
  content?: string | { text?: string }[];
}

function shorten(text: string): string {
  const headers = [...text.matchAll(/^=== (?:CHUNK|FILE) \d+ ===$|^Path: .*$/gm)].map(([line]) =>
    line.replace("Path: ", ""),
  );
  if (headers.length > 0) return `[CONTEXT] ${headers.join(" ").replaceAll("=== ", "").replaceAll(" ===", "")}`;
  const line = text.replaceAll(/\s*\n\s*/g, " ").trim();
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

export function plain(text: string): string {
  return stripVTControlCharacters(text);
}

export function end(seconds: number): number {
  print("");
  if (broken.length === 0) {
    print(colors.green(`Every claim was true, in ${seconds.toFixed(0)} s.`));
    return 0;
  }
  print(colors.red(`${broken.length} claims were not true:`));
  for (const text of broken) print(colors.red(`  ✘ ${text}`));
  return 1;
}
