/**
 * The catalogue of errors and its documentation say the same, in both directions, and every code of the
 * catalogue is raised somewhere.
 */
import { type Node, Visitor } from "oxc-parser";
import type { Finding } from "./finding.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

const cataloguePath = "src/domain/errors.ts";
const documentPath = "docs/errors.md";

interface Code {
  code: string;
  line: number;
  /** `404 "Title", again: no`; a warning is only a code. */
  entry: string;
}

const warning = "a warning";

function entryText(status: string, title: string, isRetryable: boolean): string {
  return `${status} "${title}", again: ${isRetryable ? "yes" : "no"}`;
}

export function checkErrorCodes(tree: Tree): Finding[] {
  const catalogue = tree.sources.find((file) => file.path === cataloguePath);
  const document = tree.texts.get(documentPath);
  if (catalogue === undefined || document === undefined) {
    const file = catalogue === undefined ? cataloguePath : documentPath;
    return [{ file, line: 1, rule: "errors/missing", message: "the file is not there", fix: "write it" }];
  }
  const codes = readCatalogue(catalogue);
  const rows = readDocument(document.text);
  return [...comparisonFindings(codes, rows), ...unraisedFindings(tree, codes)];
}

/** Entries of `errorCatalogue`, `code: entry(status, "title", retryable)`, and members of the union `WarningCode`. */
function readCatalogue(file: SourceFile): Code[] {
  const codes: Code[] = [];
  new Visitor({
    Property({ key, value }) {
      if (key.type !== "Identifier" || value.type !== "CallExpression") return;
      if (value.callee.type !== "Identifier" || value.callee.name !== "entry") return;
      const [status = "", title = "", retryable] = value.arguments.map(literalText);
      const entry = entryText(status, title, retryable === "true");
      codes.push({ code: key.name, line: lineAt(file.text, key.start), entry });
    },
    TSTypeAliasDeclaration({ id, typeAnnotation }) {
      if (id.name !== "WarningCode" || typeAnnotation.type !== "TSUnionType") return;
      for (const member of typeAnnotation.types) {
        if (member.type !== "TSLiteralType") continue;
        codes.push({ code: literalText(member.literal), line: lineAt(file.text, member.start), entry: warning });
      }
    },
  }).visit(file.program);
  return codes;
}

function literalText(node: Node): string {
  return node.type === "Literal" ? String(node.value) : "";
}

/** Rows `| \`code\` | status | title | again | …`; a row of a warning has no status: `| \`code\` | meaning |`. */
function readDocument(text: string): Code[] {
  return text.split("\n").flatMap((row, index) => {
    const [, first = "", status = "", title = "", again = ""] = row.split("|").map((cell) => cell.trim());
    const code = /^`(\w+)`$/.exec(first)?.[1];
    if (code === undefined) return [];
    const entry = /^\d{3}$/.test(status) ? entryText(status, title, again === "yes") : warning;
    return [{ code, line: index + 1, entry }];
  });
}

function comparisonFindings(codes: Code[], rows: Code[]): Finding[] {
  const isSame = (a: Code, b: Code): boolean => a.code === b.code && (a.entry === warning) === (b.entry === warning);
  const rule = "errors/document";
  const ofCodes = codes.flatMap((code) => {
    const row = rows.find((other) => isSame(code, other));
    if (row === undefined) {
      const message = `${code.code} is not documented`;
      return [{ file: cataloguePath, line: code.line, rule, message, fix: `add it to ${documentPath}` }];
    }
    if (row.entry === code.entry) return [];
    const fix = `the catalogue says ${code.entry}`;
    return [{ file: documentPath, line: row.line, rule, message: `${code.code} differs`, fix }];
  });
  const ofRows = rows
    .filter((row) => !codes.some((code) => isSame(code, row)))
    .map(({ code, line }) => {
      const message = `${code} does not exist`;
      return { file: documentPath, line, rule, message, fix: `it is not in ${cataloguePath}` };
    });
  return [...ofCodes, ...ofRows];
}

function unraisedFindings(tree: Tree, codes: Code[]): Finding[] {
  const product = tree.sources.filter((file) => file.path.startsWith("src/") && file.path !== cataloguePath);
  const named = new Set(product.filter((file) => !file.isTest).flatMap(textValues));
  return codes
    .filter((code) => !named.has(code.code))
    .map(({ code, line }) => {
      return {
        file: cataloguePath,
        line,
        rule: "errors/unraised",
        message: `nothing raises ${code}`,
        fix: "raise it, or take it out",
      };
    });
}

/** Every string of a file that is a value: not a type, and not what another value is compared with. */
function textValues(file: SourceFile): string[] {
  const values = new Map<number, string>();
  const compared: number[] = [];
  new Visitor({
    Literal({ value, start }) {
      if (typeof value === "string") values.set(start, value);
    },
    BinaryExpression({ left, right }) {
      compared.push(left.start, right.start);
    },
    SwitchCase({ test }) {
      if (test !== null) compared.push(test.start);
    },
    TSLiteralType({ literal }) {
      compared.push(literal.start);
    },
  }).visit(file.program);
  for (const start of compared) values.delete(start);
  return [...values.values()];
}
