/** Writes a first `AGENTS.md` from what a repository has (M1). It never overwrites a file. */
import { lstatSync, readdirSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import * as z from "zod";
import { AptoveError } from "../domain/errors.ts";
import { languageOf } from "../domain/language.ts";
import { storageFaultCode } from "../domain/storage-fault.ts";
import { askGit } from "../system/git/git.ts";
import { readIfPresent } from "../system/read-files.ts";
import { isAbsence, systemCode } from "../system/system-error.ts";

const fileName = "AGENTS.md";
const listingBytesMax = 16_777_216;
const shownMax = 20;

export interface StarterRules {
  /** The absolute path. */
  file: string;
  /** False if there is such a file already. Then nothing was written. */
  isWritten: boolean;
}

/** Writes the file into a folder. `write` replaces the way in which it is written, for an editor that writes files itself. */
export async function writeStarterRules(
  folder: string,
  write?: (file: string, text: string) => Promise<void>,
): Promise<StarterRules> {
  const file = join(folder, fileName);
  if (exists(file)) return { file, isWritten: false };
  const text = starterRules(folder, await filesOf(folder));
  if (write === undefined) return { file, isWritten: createFile(file, text) };
  await write(file, text);
  return { file, isWritten: true };
}

/** Returns whether there is something of that name: a link too, so that nothing behind it is written. */
function exists(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
}

function createFile(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    const detail = `${file} cannot be written (${systemCode(error)})`;
    throw new AptoveError(storageFaultCode(error), detail, { cause: error });
  }
}

/** Returns the tracked files, or those of the top folder if there is no git. */
async function filesOf(root: string): Promise<string[]> {
  const answer = await askGit({ folder: root, args: ["ls-files", "-z"], answerBytesMax: listingBytesMax });
  const paths = answer.outcome === "answered" ? answer.text.split("\0").filter((path) => path !== "") : [];
  return paths.length > 0 ? paths : readdirSync(root);
}

function starterRules(root: string, files: readonly string[]): string {
  const commands = commandsOf(root, files);
  const sections = [
    `# ${oneLine(basename(root))}\n\nRules for agents that work in this repository. The nearest AGENTS.md counts.`,
    section("Languages", languagesOf(files)),
    section("Commands", commands.length > 0 ? commands : ["Write here how to build and how to test."]),
    section("Folders", foldersOf(files)),
    section("Conventions", ["Write here what a change must have, and what to leave alone."]),
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `## ${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** Returns the languages of most files, most first. */
function languagesOf(files: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of files) {
    const language = extname(path) === "" ? "plaintext" : languageOf(path);
    if (!noCode.has(language)) counts.set(language, (counts.get(language) ?? 0) + 1);
  }
  const most = [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, 5);
  return most.map(([language, count]) => `${language} (${count} ${count === 1 ? "file" : "files"})`);
}

const noCode: ReadonlySet<string> = new Set(["plaintext", "markdown", "json", "yaml", "toml", "xml", "csv", "ini"]);

function foldersOf(files: readonly string[]): string[] {
  const folders = files.filter((path) => path.includes("/")).map((path) => path.slice(0, path.indexOf("/")));
  const own = [...new Set(folders)].filter((folder) => !folder.startsWith("."));
  return own.slice(0, shownMax).map((folder) => `\`${oneLine(folder)}/\``);
}

const packageFile = z.object({ scripts: z.record(z.string(), z.string()).default({}) });

/** The commands that are usual where a file of this name is at the top. */
const usualCommands: readonly [file: string, ...commands: string[]][] = [
  ["Cargo.toml", "cargo build", "cargo test"],
  ["go.mod", "go build ./...", "go test ./..."],
  ["pyproject.toml", "python -m pytest"],
  ["pom.xml", "mvn test"],
  ["build.gradle", "gradle test"],
  ["build.gradle.kts", "gradle test"],
  ["CMakeLists.txt", "cmake -B build && cmake --build build", "ctest --test-dir build"],
  ["Makefile", "make"],
];

function commandsOf(root: string, files: readonly string[]): string[] {
  const top = new Set(files);
  const usual = usualCommands.flatMap(([file, ...commands]) => (top.has(file) ? commands : []));
  const scripts = top.has("package.json") ? scriptsOf(join(root, "package.json")) : [];
  const runner = top.has("pnpm-lock.yaml") ? "pnpm" : top.has("yarn.lock") ? "yarn" : "npm";
  return [...scripts.map((name) => `${runner} run ${name}`), ...usual].map((command) => `\`${command}\``);
}

/** Returns the names of the scripts, those that build, test and check first. */
function scriptsOf(file: string): string[] {
  try {
    const { scripts } = packageFile.parse(JSON.parse(readIfPresent(file)?.toString("utf8") ?? "{}"));
    const names = Object.keys(scripts).filter((name) => /^[\w:.-]+$/.test(name));
    const isMain = (name: string): boolean => /^(build|test|check|lint|format|dev|start)\b/.test(name);
    return [...names.filter(isMain), ...names.filter((name) => !isMain(name))].slice(0, shownMax);
  } catch {
    // A file that is no package says nothing about commands.
    return [];
  }
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}`]/gu, " ");
}
