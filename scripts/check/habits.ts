/**
 * Habits of the code that a linter does not know or cannot explain: what may be thrown, caught,
 * silenced and spread.
 */
import { type Expression, type Node, Visitor } from "oxc-parser";
import type { Finding } from "./finding.ts";
import { isTestCallee, methodOf } from "./syntax.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

export function checkHabits(tree: Tree): Finding[] {
  return tree.sources.flatMap((file) => [...syntaxFindings(file), ...silencedFindings(file)]);
}

const untypedErrors = ["Error", "TypeError", "RangeError", "SyntaxError"];

function syntaxFindings(file: SourceFile): Finding[] {
  const findings: Finding[] = [];
  const report = (start: number, fault: { rule: string; message: string; fix: string }): void => {
    findings.push({ ...fault, file: file.path, line: lineAt(file.text, start), rule: `habits/${fault.rule}` });
  };
  // Tests may group the fields of their samples in this way.
  const reportLiteral = ({ start, argument }: { start: number; argument: Expression }): void => {
    if (!/^(?:src|web)\//.test(file.path) || file.isTest || argument.type !== "ObjectExpression") return;
    report(start, { rule: "spread", message: "spreads a literal into another", fix: "write its fields" });
  };
  new Visitor({
    ThrowStatement({ start, argument }) {
      if (!file.path.startsWith("src/") || file.isTest || !isUntyped(argument)) return;
      const fix = "throw an AptoveError; assert for our own bugs";
      report(start, { rule: "throw", message: "throws without a code", fix });
    },
    CatchClause({ start, body }) {
      if (body.body.length > 0) return;
      report(start, { rule: "catch", message: "swallows an error", fix: "handle it, or return what it means" });
    },
    CallExpression({ start, callee, arguments: [first] }) {
      const method = methodOf(callee);
      if (file.isTest && isTestCallee(callee) && ["only", "todo", "skip"].includes(method)) {
        const fix = "write the test; { skip: reason } where something is missing";
        report(start, { rule: "test", message: `leaves tests out by .${method}`, fix });
      }
      if (method === "catch" && first !== undefined && doesNothing(first)) {
        report(start, { rule: "catch", message: "swallows a rejection", fix: "handle it, or return what it means" });
      }
    },
    ObjectExpression({ properties }) {
      for (const each of properties) if (each.type === "SpreadElement") reportLiteral(each);
    },
    JSXSpreadAttribute: (attribute) => reportLiteral(attribute),
    TSAnyKeyword({ start }) {
      report(start, { rule: "any", message: "says any", fix: "say unknown and look, or name the type" });
    },
  }).visit(file.program);
  return findings;
}

/** `throw new Error(…)` and its kin, and values that are no errors. A variable may hold anything: it is rethrown. */
function isUntyped(thrown: Expression): boolean {
  if (["Literal", "TemplateLiteral", "ObjectExpression"].includes(thrown.type)) return true;
  if (thrown.type !== "NewExpression" && thrown.type !== "CallExpression") return false;
  return thrown.callee.type === "Identifier" && untypedErrors.includes(thrown.callee.name);
}

function doesNothing(node: Node): boolean {
  if (node.type !== "ArrowFunctionExpression" && node.type !== "FunctionExpression") return false;
  return node.body?.type === "BlockStatement" && node.body.body.length === 0;
}

const silencers = /@ts-ignore|@ts-expect-error|@ts-nocheck|(?:oxlint|eslint)-disable|oxfmt-ignore|prettier-ignore/;

function silencedFindings(file: SourceFile): Finding[] {
  return file.comments.flatMap(({ value, start }) => {
    const silencer = silencers.exec(value)?.[0];
    if (silencer === undefined) return [];
    const line = lineAt(file.text, start);
    const fix = "fix what it hides, or list it with its reason in scripts/check/exceptions.ts";
    return [{ file: file.path, line, rule: "habits/silenced", message: `has ${silencer}`, fix }];
  });
}
