/**
 * The project as the checks read it: every text file, and every source file parsed once. Checks take a
 * tree and give findings, so that each of them can be tried on a small tree with a planted fault.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comment, type EcmaScriptModule, parseSync, type Program } from "oxc-parser";

export interface Tree {
  root: string;
  /** Every text file, by its path relative to the root, forward slashes, sorted. */
  texts: Map<string, TextFile>;
  sources: SourceFile[];
}

export interface TextFile {
  path: string;
  text: string;
}

export interface SourceFile extends TextFile {
  program: Program;
  module: EcmaScriptModule;
  comments: Comment[];
  /** A test, or a suite of tests that others run: it has tests in it. */
  isTest: boolean;
}

/** What is not ours, is made by a program, or is data. */
const foldersLeftOut = new Set(["node_modules", ".git", ".cache", "coverage", "dist", "fixtures"]);
const filesLeftOut = /^(?:package-lock\.json|LICENSE|\.git)$|\.log$/;
const sourcePattern = /\.(?:tsx?|mts|js|mjs)$/;

export function readTree(root: string): Tree {
  const texts = new Map<string, TextFile>();
  for (const path of filesBelow(root, "").toSorted()) {
    const bytes = readFileSync(join(root, path));
    if (!bytes.includes(0)) texts.set(path, { path, text: bytes.toString("utf8") });
  }
  const sources = [...texts.values()].filter((file) => sourcePattern.test(file.path)).map(parse);
  return { root, texts, sources };
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return foldersLeftOut.has(entry.name) ? [] : filesBelow(root, path);
    return entry.isFile() && !filesLeftOut.test(path) ? [path] : [];
  });
}

function parse(file: TextFile): SourceFile {
  const { program, module, comments } = parseSync(file.path, file.text);
  const isTest =
    isTestPath(file.path) || module.staticImports.some((statement) => statement.moduleRequest.value === "node:test");
  return { ...file, program, module, comments, isTest };
}

/** The line, from 1, of an offset into a text. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

export function isTestPath(path: string): boolean {
  return /\.(?:test|page)\.m?[jt]s$/.test(path);
}

/** The files that the product is made of: what `npm publish` and people run. */
export function isProduct(path: string): boolean {
  return ["src/", "bin/", "web/"].some((folder) => path.startsWith(folder));
}
