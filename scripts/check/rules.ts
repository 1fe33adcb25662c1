/**
 * The numbered rules of docs/spec.md and the tests that prove them. A test names its rules at the head of
 * its name: `[T2] the second of two finishers changes nothing`.
 */
import { type CallExpression, Visitor } from "oxc-parser";
import type { Finding } from "./finding.ts";
import { isTestCallee, methodOf } from "./syntax.ts";
import { lineAt, type SourceFile, type Tree } from "./tree.ts";

const specPath = "docs/spec.md";

interface Rule {
  id: string;
  line: number;
  isInForce: boolean;
}

/** `- **S1** text`; under a heading "Not yet in force" the rule waits. */
function readRules(spec: string): Rule[] {
  let isInForce = true;
  return spec.split("\n").flatMap((text, index) => {
    if (text.startsWith("## ")) isInForce = !/not yet in force/i.test(text);
    const id = /^- \*\*([A-Z]\d+)\*\*/.exec(text)?.[1];
    return id === undefined ? [] : [{ id, line: index + 1, isInForce }];
  });
}

export function checkRules(tree: Tree): Finding[] {
  const spec = tree.texts.get(specPath);
  if (spec === undefined) {
    return [{ file: specPath, line: 1, rule: "rules/missing", message: "there is no list of rules", fix: "write it" }];
  }
  const rules = readRules(spec.text);
  const ids = new Set(rules.map((rule) => rule.id));
  const citations = tree.sources.filter((file) => file.isTest).flatMap(citationsOf);
  const cited = new Set(citations.map((citation) => citation.id));
  return [
    ...rules
      .filter(({ id }, index) => rules.findIndex((other) => other.id === id) !== index)
      .map(({ id, line }) => {
        return {
          file: specPath,
          line,
          rule: "rules/twice",
          message: `${id} is there twice`,
          fix: "an id is given once",
        };
      }),
    ...rules
      .filter(({ id, isInForce }) => isInForce && !cited.has(id))
      .map(({ id, line }) => {
        const fix = `write test("[${id}] …")`;
        return { file: specPath, line, rule: "rules/untested", message: `no test names ${id}`, fix };
      }),
    ...citations
      .filter(({ id }) => !ids.has(id))
      .map(({ id, file, line }) => {
        return { file, line, rule: "rules/unknown", message: `names ${id}`, fix: `it is not in ${specPath}` };
      }),
  ];
}

interface Citation {
  id: string;
  file: string;
  line: number;
}

/**
 * The rule ids at the head of test names. A name is the first argument of `test` and its like, or, where tests
 * are made from a table, any text of the file that begins with an id in brackets.
 */
function citationsOf(file: SourceFile): Citation[] {
  const citations: Citation[] = [];
  const leftOut = new Set<number>();
  const look = (text: string, start: number): void => {
    const head = /^(?:\[[A-Z]\d+\] ?)+/.exec(text)?.[0];
    if (head === undefined || leftOut.has(start)) return;
    const line = lineAt(file.text, start);
    for (const [, id] of head.matchAll(/\[([A-Z]\d+)\]/g))
      if (id !== undefined) citations.push({ id, file: file.path, line });
  };
  new Visitor({
    CallExpression(call) {
      const [name] = call.arguments;
      if (name !== undefined && isLeftOut(call)) leftOut.add(name.start);
    },
    Literal({ value, start }) {
      if (typeof value === "string") look(value, start);
    },
    TemplateLiteral({ quasis, start }) {
      look(quasis[0]?.value.cooked ?? "", start);
    },
  }).visit(file.program);
  return citations;
}

/** A test that never runs proves nothing. */
function isLeftOut({ callee }: CallExpression): boolean {
  return isTestCallee(callee) && ["skip", "todo"].includes(methodOf(callee));
}
