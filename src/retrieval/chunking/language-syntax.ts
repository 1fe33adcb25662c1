/**
 * Sections of source code by tree-sitter: one per statement or definition, refined on demand. Grammars are WebAssembly and are
 * loaded at the first use of their language. A text that does not parse in time, or breaks the parser, is read as if there
 * were no grammar (Q1).
 */
import { createRequire } from "node:module";
import { Language, Parser, type Node } from "web-tree-sitter";
import { limits } from "../../domain/limits.ts";
import type { SourceSection, LanguageSyntax } from "./section.ts";
import { symbolOf, unwrap } from "./symbols.ts";

/** The file names of the grammars, by our names of the languages (domain/language.ts). */
const grammars: Record<string, string> = {
  bash: "bash",
  c: "cpp",
  cpp: "cpp",
  csharp: "c-sharp",
  go: "go",
  java: "java",
  javascript: "javascript",
  php: "php",
  powershell: "powershell",
  python: "python",
  ruby: "ruby",
  rust: "rust",
  tsx: "tsx",
  typescript: "typescript",
};

const loading = new Map<string, Promise<LanguageSyntax | null>>();

/** Returns the syntax of a language. Null if there is no grammar, or its package is not installed. */
export function loadSyntax(language: string): Promise<LanguageSyntax | null> {
  const grammar = grammars[language];
  if (grammar === undefined) return Promise.resolve(null);
  let syntax = loading.get(grammar);
  if (syntax === undefined) {
    syntax = loadGrammar(grammar).catch(() => null);
    loading.set(grammar, syntax);
  }
  return syntax;
}

async function loadGrammar(grammar: string): Promise<LanguageSyntax> {
  await Parser.init();
  const file = createRequire(import.meta.url).resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`);
  const parser = new Parser();
  parser.setLanguage(await Language.load(file));
  return { read: (text, use) => readSections(parser, text, use) };
}

function readSections<T>(parser: Parser, text: string, use: (sections: SourceSection[] | null) => T): T {
  const deadline = performance.now() + limits.parseMsMax;
  const isLate = (): boolean => performance.now() > deadline;
  try {
    const tree = parser.parse(text, null, { progressCallback: isLate });
    if (tree === null) {
      parser.reset();
      return use(null);
    }
    try {
      return use(sectionsIn(tree.rootNode, null, isLate));
    } finally {
      tree.delete();
    }
  } catch (error) {
    if (isParserFault(error)) return use(null);
    throw error;
  }
}

/** Returns whether the parser ran out of memory or stack on this text. */
function isParserFault(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "RuntimeError");
}

/** Returns the sections of a node's children. Comments, decorators and attributes directly above a child belong to it. */
function sectionsIn(parent: Node, scope: string | null, isLate: () => boolean): SourceSection[] {
  if (isLate()) return [];
  const sections: SourceSection[] = [];
  let above: LineRange | null = null;
  for (const child of parent.namedChildren) {
    const range = linesOf(child);
    if (above !== null && range.startLine > above.endLine + 1) {
      sections.push({ ...above, symbol: scope });
      above = null;
    }
    const startLine: number = above?.startLine ?? range.startLine;
    if (isPrelude(child) && startLine > (sections.at(-1)?.endLine ?? 0)) {
      above = { startLine, endLine: range.endLine };
      continue;
    }
    sections.push(sectionOf(child, { startLine, endLine: range.endLine }, { scope, isLate }));
    above = null;
  }
  if (above !== null) sections.push({ ...above, symbol: scope });
  return sections;
}

interface LineRange {
  startLine: number;
  endLine: number;
}

function sectionOf(
  node: Node,
  range: LineRange,
  within: { scope: string | null; isLate: () => boolean },
): SourceSection {
  const symbol = symbolOf(node, within.scope) ?? within.scope;
  return { ...range, symbol, parts: () => sectionsIn(unwrap(node), symbol, within.isLate) };
}

/** Returns the lines of a node. A node that ends with a line end ends on the line before. */
function linesOf(node: Node): LineRange {
  const startLine = node.startPosition.row + 1;
  const end = node.endPosition;
  return { startLine, endLine: Math.max(startLine, end.column === 0 ? end.row : end.row + 1) };
}

function isPrelude(node: Node): boolean {
  return /comment$|^decorator$|^attribute_item$/.test(node.type);
}
