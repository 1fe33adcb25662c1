import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHabits } from "./habits.ts";
import { places, plant } from "./planted.ts";

/** What the check says of one line of a source file. */
const cases: { line: string; rule: string | null; path?: string }[] = [
  { line: `throw new Error("x");`, rule: "throw" },
  { line: `throw Error("x");`, rule: "throw" },
  { line: `throw new TypeError("x");`, rule: "throw" },
  { line: `throw "x";`, rule: "throw" },
  { line: `throw { code: 1 };`, rule: "throw" },
  { line: `throw new AptoveError("internal", "x");`, rule: null },
  { line: `try { f(); } catch (error) { throw error; }`, rule: null },
  { line: `throw new Error("x");`, rule: null, path: "scripts/a.ts" },
  { line: `try { f(); } catch {}`, rule: "catch" },
  { line: `try { f(); } catch { /* fine */ }`, rule: "catch" },
  { line: `try { f(); } catch { return null; }`, rule: null },
  { line: `f().catch(() => {});`, rule: "catch" },
  { line: `f().catch(() => null);`, rule: null },
  { line: `let a: any;`, rule: "any" },
  { line: `f(x as any);`, rule: "any" },
  { line: `const any = "any"; // any`, rule: null },
  { line: `f({ ...{ a, b }, c });`, rule: "spread" },
  { line: `f(<B {...{ a, b }} />);`, rule: "spread", path: "web/a.tsx" },
  { line: `f({ ...a, ...(b && { b }) });`, rule: null },
  { line: `f({ ...{ a, b }, c });`, rule: null, path: "src/a.test.ts" },
  { line: `f({ ...{ a, b }, c });`, rule: null, path: "scripts/a.ts" },
  { line: `// @ts-expect-error it is wrong`, rule: "silenced" },
  { line: `/* @ts-ignore */ f();`, rule: "silenced" },
  { line: `// oxlint-disable-next-line no-console`, rule: "silenced" },
  { line: `const text = "@ts-ignore";`, rule: null },
  { line: `test.only("x", f);`, rule: "test", path: "src/a.test.ts" },
  { line: `test.skip("x", f);`, rule: "test", path: "src/a.test.ts" },
  { line: `describe.todo("x");`, rule: "test", path: "src/a.test.ts" },
  { line: `test("x", { skip: reason }, f);`, rule: null, path: "src/a.test.ts" },
  { line: `list.only("x");`, rule: null, path: "src/a.test.ts" },
];

for (const { line, rule, path = "src/a.ts" } of cases) {
  test(`${path}: ${line} ${rule === null ? "is fine" : `is found by ${rule}`}`, (context) => {
    const findings = checkHabits(plant(context, { [path]: `\n${line}\n` }));
    assert.deepEqual(places(findings), rule === null ? [] : [`${path}:2 habits/${rule}`]);
  });
}
