/** Every place that a document links to or names is there: files, folders and headings. An index leads to every page. */
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import type { Finding } from "./finding.ts";
import { lineAt, type SourceFile, type TextFile, type Tree } from "./tree.ts";

export function checkDocs(tree: Tree): Finding[] {
  const documents = [...tree.texts.values()].filter((file) => file.path.endsWith(".md"));
  return [
    ...documents.flatMap((document) => linkFindings(tree, document)),
    ...documents.flatMap((document) => unlistedFinding(tree, document)),
    ...documents
      .filter(({ path }) => !isDated(path))
      .flatMap((document) => namedFindings(tree, { ...document, line: 1 })),
    ...commentedSources(tree).flatMap((file) =>
      file.comments.flatMap(({ value, start }) =>
        namedFindings(tree, { path: file.path, text: value, line: lineAt(file.text, start) }),
      ),
    ),
  ];
}

/** A page of `docs/` is listed in `docs/README.md`, and a decision in the index beside it. */
function unlistedFinding(tree: Tree, { path }: TextFile): Finding[] {
  if (!path.startsWith("docs/") || posix.basename(path) === "README.md") return [];
  const folder = path.startsWith("docs/decisions/") ? "docs/decisions" : "docs";
  const index = `${folder}/README.md`;
  const listed = tree.texts.get(index)?.text ?? "";
  if (listed.includes(`](${posix.relative(folder, path)})`)) return [];
  return [{ file: path, line: 1, rule: "docs/unlisted", message: "no index leads to it", fix: `list it in ${index}` }];
}

/** A decision is not edited later, so it may name files that have moved since. */
function isDated(path: string): boolean {
  return /^docs\/decisions\/\d{4}-/.test(path);
}

/** Tests and what they stand on speak of files of their own making. */
function commentedSources(tree: Tree): SourceFile[] {
  return tree.sources.filter((file) => !file.isTest && !file.path.startsWith("testing/"));
}

/** The text with fenced blocks and inline code blanked, so that lines stay where they are. */
function prose(text: string): string {
  return text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1|`[^`\n]+`/gm, (code) => code.replace(/[^\n]/g, " "));
}

function linkFindings(tree: Tree, { path, text }: TextFile): Finding[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match) => {
    const [, target = ""] = match;
    if (/^[a-z]+:/.test(target)) return [];
    const [file = "", heading] = target.split("#");
    const place = file === "" ? path : posix.join(posix.dirname(path), file);
    const fault = placeFault(tree, place, heading);
    if (fault === null) return [];
    return [
      { file: path, line: lineAt(text, match.index), rule: "docs/link", message: `links to ${target}`, fix: fault },
    ];
  });
}

function placeFault(tree: Tree, place: string, heading: string | undefined): string | null {
  if (place.startsWith("..")) return "that is outside the repository";
  if (!existsSync(join(tree.root, place))) return `there is no ${place}`;
  if (heading === undefined) return null;
  const headings = [...(tree.texts.get(place)?.text ?? "").matchAll(/^#+ (.*)$/gm)].map((match) =>
    slug(match[1] ?? ""),
  );
  return headings.includes(heading) ? null : `${place} has no heading #${heading}`;
}

/** The anchor that a heading gets where documents are shown. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Files that a text names from the root of the repository, as in `src/domain/turn.ts`. */
const namedPattern =
  /(?<![\w./@~-])(?:(?:src|docs|scripts|testing|bench|bin|\.ci)\/[\w./-]*\w\/?|[A-Z]{4,}\.md)(?![\w*<{…]|[./-]+[\w*<{…])/g;

/** Files for agents, which the program reads in any repository. */
const ofAnyRepository = /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI|SKILL)\.md$/;

/** `line`: where the text begins in its file. */
function namedFindings(tree: Tree, { path, text, line }: TextFile & { line: number }): Finding[] {
  return [...text.matchAll(namedPattern)].flatMap((match) => {
    const [named] = match;
    if (ofAnyRepository.test(named)) return [];
    if (existsSync(join(tree.root, named)) || existsSync(join(tree.root, posix.dirname(path), named))) return [];
    if (isDecision(named) && [...tree.texts.keys()].some((other) => other.startsWith(`${named}-`))) return [];
    const place = { file: path, line: line + lineAt(text, match.index) - 1 };
    return [{ ...place, rule: "docs/named", message: `names ${named}`, fix: "there is no such file" }];
  });
}

/** A decision may be named by its number alone. */
function isDecision(named: string): boolean {
  return /^docs\/decisions\/\d{4}$/.test(named);
}
