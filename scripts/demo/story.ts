/** The demo's output: headings, commands with their output, requests as they were sent, and claims. */
import { stripVTControlCharacters } from "node:util";
import pc from "picocolors";
import type { FakeRequest } from "../../testing/fake-openai/fake-openai.ts";
import type { Ran } from "./stage.ts";

const colors = pc.createColors(process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined);

let chapters = 0;
const broken: string[] = [];

export function chapter(title: string): void {
  chapters += 1;
  console.log(`\n${colors.bold(colors.cyan(`${chapters}. ${title}`))}`);
}

export function say(text: string): void {
  console.log(colors.dim(text));
}

export function command(text: string, ran?: Ran): void {
  console.log(`${colors.green("$")} ${colors.bold(text)}`);
  if (ran !== undefined) printed(ran.stdout + ran.stderr);
}

export function printed(text: string): void {
  for (const line of text.trimEnd().split("\n")) console.log(`  ${line}`);
}

/** Checks a claim of the story. The demo ends with 0 only if every claim is true. */
export function claim(text: string, isTrue: boolean): void {
  console.log(isTrue ? `${colors.green("✔")} ${text}` : `${colors.red("✘")} ${colors.red(text)}`);
  if (!isTrue) broken.push(text);
}

/** A request as the provider got it, each text cut to its first line. */
export function showRequest(request: FakeRequest): void {
  const body = JSON.parse(request.raw.toString()) as Record<string, unknown>;
  const refused =
    request.refusal === null ? "" : colors.red(`  → ${request.refusal.status} ${request.refusal.body.error.code}`);
  console.log(colors.yellow(`  → POST ${request.path}  ${request.raw.length} bytes${refused}`));
  for (const key of ["model", "store", "previous_response_id"]) {
    if (body[key] !== undefined) console.log(`      ${key}: ${String(body[key])}`);
  }
  for (const item of body["input"] as WireItem[]) {
    const content = typeof item.content === "string" ? [{ text: item.content }] : (item.content ?? []);
    const texts = content.map((part) => shorten(part.text ?? ""));
    console.log(`      ${item.role ?? item.type ?? "?"}: ${texts.join(colors.dim("  |  "))}`);
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
  console.log("");
  if (broken.length === 0) {
    console.log(colors.green(`Every claim was true, in ${seconds.toFixed(0)} s.`));
    return 0;
  }
  console.log(colors.red(`${broken.length} claims were not true:`));
  for (const text of broken) console.log(colors.red(`  ✘ ${text}`));
  return 1;
}
