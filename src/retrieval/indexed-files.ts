/**
 * Which of the tracked files are indexed (Q1). Lock files, ignore files, images, and code that a program or another project wrote
 * would only take places from the code that people work on, and what a file of secrets has would go to a provider. `.gitattributes`, `.aptoveignore` and a setting change that.
 */
import { limits } from "../domain/limits.ts";
import { mayHoldSecrets } from "../system/secret-forms.ts";
import { pathPattern, PathRules } from "./path-patterns.ts";
import type { RepositoryFiles } from "./repository-files.ts";
import { readableText } from "./source-text.ts";
import type { IndexSkipReason, UnindexedFile } from "./unindexed-file.ts";

const byName: readonly [IndexSkipReason, { test(path: string): boolean }][] = [
  ["secrets", { test: mayHoldSecrets }],
  [
    "lock_file",
    /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|Cargo\.lock|Gemfile\.lock|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|composer\.lock|go\.sum|mix\.lock|flake\.lock|pubspec\.lock|Podfile\.lock|packages\.lock\.json|gradle\.lockfile|\.terraform\.lock\.hcl)$/,
  ],
  ["ignore_file", /(?:^|\/)(?:\.\w*ignore|\.gitattributes|\.gitkeep)$/],
  ["image", /\.svg$/i],
  ["minified", /[.-]min\.(?:js|mjs|cjs|css)$|\.(?:js|css|mjs|cjs|ts)\.map$/i],
  ["vendored", /^(?:vendor|third_party|thirdparty)\/|(?:^|\/)(?:node_modules|bower_components|Pods|\.yarn)\//],
  [
    "generated",
    /(?:^|\/)__generated__\/|\.(?:generated|g)\.\w+$|\.pb\.(?:go|cc|h)$|_pb2(?:_grpc)?\.py$|\.designer\.cs$/i,
  ],
];

/** What a rule of a file says about the paths that it matches: the reason to leave them out, or `index`. */
type Verdict = IndexSkipReason | "index";

/** Returns the files that are indexed, and those that are not, each with the reason. */
export async function chooseFiles(
  files: RepositoryFiles,
  ignore: readonly string[],
): Promise<{ paths: string[]; skipped: UnindexedFile[] }> {
  const attributes = await attributeRules(files);
  const own = await ignoreRules(files, ignore);
  const paths: string[] = [];
  const skipped = [...files.skipped];
  for (const path of files.paths) {
    const verdict = own.of(path) ?? attributes.of(path) ?? byName.find(([, name]) => name.test(path))?.[0] ?? "index";
    if (verdict === "index") paths.push(path);
    else skipped.push({ path, reason: verdict });
  }
  return { paths, skipped };
}

async function attributeRules(files: RepositoryFiles): Promise<PathRules<Verdict>> {
  const rules = new PathRules<Verdict>();
  for await (const { line, base } of linesOf(files, ".gitattributes")) {
    const [pattern = "", ...attributes] = line.split(/\s+/);
    for (const attribute of attributes) {
      const [, minus, name, value = ""] = /^(-?)linguist-(generated|vendored)(?:=(\w+))?$/.exec(attribute) ?? [];
      if (name === undefined) continue;
      const isSet = minus === "" && value !== "false";
      rules.add(pathPattern(pattern, base), isSet ? (name as IndexSkipReason) : "index");
    }
  }
  return rules;
}

async function ignoreRules(files: RepositoryFiles, ignore: readonly string[]): Promise<PathRules<Verdict>> {
  const rules = new PathRules<Verdict>();
  const add = (line: string, base: string): void => {
    if (line.startsWith("!")) rules.add(pathPattern(line.slice(1), base), "index");
    else rules.add(pathPattern(line, base), "ignored");
  };
  for (const line of ignore) add(line, "");
  for await (const { line, base } of linesOf(files, ".aptoveignore")) add(line, base);
  return rules;
}

/** Yields the lines of every file of that name that say something, those of outer folders first. */
async function* linesOf(files: RepositoryFiles, name: string): AsyncGenerator<{ line: string; base: string }> {
  const found = files.paths.filter((path) => path === name || path.endsWith(`/${name}`));
  for (const path of found.toSorted((a, b) => a.length - b.length)) {
    if ((files.stat(path)?.sizeBytes ?? Infinity) > limits.indexedFileBytesMax) continue;
    const content = await files.read(path);
    const text = content === null ? null : readableText(content);
    for (const each of text?.split("\n") ?? []) {
      const line = each.trim();
      if (line !== "" && !line.startsWith("#")) yield { line, base: path.slice(0, -name.length) };
    }
  }
}

/** Only the beginning of a file says that it is generated. */
const headCharacters = 1_000;
const generatedHead =
  /@generated\b|code generated .{0,200}\bdo not edit\b|\bauto-?\s?generated\b.{0,200}\bdo not (?:edit|modify)\b|\bdo not (?:edit|modify)\b.{0,200}\bauto-?\s?generated\b/is;
const minifiedLineMean = 400;

/** Reads a file for the index: its text, or the reason why its content is not indexed. */
export function readSource(path: string, content: Uint8Array): { text: string } | { reason: IndexSkipReason } {
  const text = readableText(content);
  if (text === null) return { reason: "binary" };
  if (/\.(?:js|mjs|cjs|css)$/i.test(path) && text.length / text.split("\n").length > minifiedLineMean)
    return { reason: "minified" };
  return generatedHead.test(text.slice(0, headCharacters)) ? { reason: "generated" } : { text };
}
