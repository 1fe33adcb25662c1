/**
 * Sizes that a calm reader can hold in the head. The tail is what counts, so the limits are on the largest
 * and on a percentile; they are ratchets and only ever get tighter.
 */
import { type ArrowFunctionExpression, type Function, type TSSignature, Visitor } from "oxc-parser";
import { posix } from "node:path";
import type { Finding } from "./finding.ts";
import { isTestCallee } from "./syntax.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

const sizeLimits = {
  functionLinesMax: 100,
  functionLinesP99: 40,
  fileLinesMax: 400,
  fileLinesP90: 200,
  testFileLinesMax: 800,
  parametersMax: 3,
  interfaceFieldsMax: 15,
  folderFilesMax: 25,
} as const;

interface Sized {
  file: string;
  line: number;
  name: string;
  lines: number;
}

export function checkSizes(tree: Tree): Finding[] {
  const source = tree.sources.filter((file) => !file.isTest);
  const files = source.map((file) => ({ file: file.path, line: 1, name: file.path, lines: lineCount(file) }));
  const functions = source.flatMap(functionsOf);
  const tests = tree.sources.filter((file) => file.isTest);
  return [
    ...files.filter((file) => file.lines > sizeLimits.fileLinesMax).map((file) => fileFinding(file, "fileLinesMax")),
    ...tests
      .map((file) => ({ file: file.path, line: 1, name: file.path, lines: lineCount(file) }))
      .filter((file) => file.lines > sizeLimits.testFileLinesMax)
      .map((file) => fileFinding(file, "testFileLinesMax")),
    ...[...functions, ...tests.flatMap(functionsOf)]
      .filter((found) => found.lines > sizeLimits.functionLinesMax)
      .map((found) => functionFinding(found)),
    ...percentileFindings(files, { what: "file", share: 0.9, limit: sizeLimits.fileLinesP90 }),
    ...percentileFindings(functions, { what: "function", share: 0.99, limit: sizeLimits.functionLinesP99 }),
    ...tree.sources.flatMap(parameterFindings),
    ...source.flatMap(interfaceFindings),
    ...folderFindings(source),
  ];
}

function lineCount(file: SourceFile): number {
  return lineAt(file.text, file.text.trimEnd().length);
}

function fileFinding(file: Sized, limit: "fileLinesMax" | "testFileLinesMax"): Finding {
  const message = `the file has ${file.lines} lines; at most ${sizeLimits[limit]}`;
  return { file: file.file, line: 1, rule: "sizes/file", message, fix: "find the two things in it" };
}

function functionFinding({ file, line, name, lines }: Sized): Finding {
  const message = `${name} has ${lines} lines; at most ${sizeLimits.functionLinesMax}`;
  return { file, line, rule: "sizes/function", message, fix: "name its parts as functions" };
}

interface Percentile {
  what: "file" | "function";
  share: number;
  limit: number;
}

/** Returns nothing while few are large, else all that are over the percentile's limit, largest first. */
function percentileFindings(all: Sized[], { what, share, limit }: Percentile): Finding[] {
  const large = all.filter((one) => one.lines > limit).toSorted((a, b) => b.lines - a.lines);
  const allowed = Math.max(1, Math.floor(all.length * (1 - share)));
  if (large.length <= allowed) return [];
  return large.map((one) => ({
    file: one.file,
    line: one.line,
    rule: `sizes/${what}-percentile`,
    message: `${one.name} has ${one.lines} lines; ${large.length} of ${all.length} have more than ${limit}`,
    fix: `at most ${allowed} may`,
  }));
}

type AnyFunction = Function | ArrowFunctionExpression;

/** Every function but those that only register tests, which are as long as the list of their tests. */
function functionsOf(file: SourceFile): Sized[] {
  const open: { node: AnyFunction; registersTests: boolean }[] = [];
  const found: Sized[] = [];
  const enter = (node: AnyFunction): void => void open.push({ node, registersTests: false });
  const leave = (node: AnyFunction): void => {
    const registersTests = open.pop()?.registersTests ?? false;
    if (registersTests || node.body === null) return;
    const line = lineAt(file.text, node.start);
    const lines = lineAt(file.text, node.end) - line + 1;
    found.push({ file: file.path, line, name: nameOf(node), lines });
  };
  new Visitor({
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
    "FunctionDeclaration:exit": leave,
    "FunctionExpression:exit": leave,
    "ArrowFunctionExpression:exit": leave,
    CallExpression({ callee }) {
      const last = open.at(-1);
      if (last !== undefined && file.isTest && isTestCallee(callee)) last.registersTests = true;
    },
  }).visit(file.program);
  return found;
}

function nameOf(node: AnyFunction): string {
  return node.id === null ? "a function" : node.id.name;
}

function parameterFindings(file: SourceFile): Finding[] {
  const found: Finding[] = [];
  const look = (node: AnyFunction): void => {
    const parameters = node.params.filter((parameter) => !isThis(parameter));
    if (parameters.length <= sizeLimits.parametersMax) return;
    found.push({
      file: file.path,
      line: lineAt(file.text, node.start),
      rule: "sizes/parameters",
      message: `${nameOf(node)} takes ${parameters.length} parameters; at most ${sizeLimits.parametersMax}`,
      fix: "take one named object",
    });
  };
  new Visitor({ FunctionDeclaration: look, FunctionExpression: look, ArrowFunctionExpression: look }).visit(
    file.program,
  );
  return found;
}

function isThis(parameter: AnyFunction["params"][number]): boolean {
  return parameter.type === "Identifier" && parameter.name === "this";
}

/** Fields of interfaces and of types that are written as one object. Methods do not count: each of them is a sentence of its own. */
function interfaceFindings(file: SourceFile): Finding[] {
  const found: Finding[] = [];
  const look = (name: string, start: number, members: readonly TSSignature[]): void => {
    const fields = members.filter(({ type }) => type === "TSPropertySignature").length;
    if (fields <= sizeLimits.interfaceFieldsMax) return;
    found.push({
      file: file.path,
      line: lineAt(file.text, start),
      rule: "sizes/interface",
      message: `${name} has ${fields} fields; at most ${sizeLimits.interfaceFieldsMax}`,
      fix: "name the nouns that are hidden in it",
    });
  };
  new Visitor({
    TSInterfaceDeclaration({ id, start, body }) {
      look(id.name, start, body.body);
    },
    TSTypeAliasDeclaration({ id, start, typeAnnotation }) {
      if (typeAnnotation.type === "TSTypeLiteral") look(id.name, start, typeAnnotation.members);
    },
  }).visit(file.program);
  return found;
}

/** Source files that lie directly in one folder of the product; suites and tests do not count. */
function folderFindings(source: readonly SourceFile[]): Finding[] {
  const byFolder = Map.groupBy(source, ({ path }) => posix.dirname(path));
  return [...byFolder].flatMap(([folder, files]) => {
    if (!folder.startsWith("src/") || files.length <= sizeLimits.folderFilesMax) return [];
    const message = `the folder has ${files.length} source files; at most ${sizeLimits.folderFilesMax}`;
    return [{ file: folder, line: 1, rule: "sizes/folder", message, fix: "find the rooms in it" }];
  });
}
