/** The tools that others wrote: what they say, as findings of ours. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding } from "./finding.ts";

const binFolder = fileURLToPath(new URL("../../node_modules/.bin/", import.meta.url));

interface Ran {
  code: number;
  output: string;
}

/** Runs a tool of this project in a folder. A tool that cannot be run is an error; one that finds faults is not. */
function run(tool: string, args: readonly string[], cwd: string): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
    execFile(join(binFolder, tool), args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code !== "number") reject(new Error(`${tool} could not be run`, { cause: error }));
      else resolve({ code, output: stdout + stderr });
    });
  });
}

/** A tool that failed without a finding that we can read has still failed. */
function orWhole(tool: string, { code, output }: Ran, findings: Finding[]): Finding[] {
  if (code === 0 || findings.length > 0) return findings;
  const message = output.trim() || `ended with ${code}`;
  return [{ file: "package.json", line: 1, rule: `${tool}/failed`, message, fix: `run ${tool} by hand` }];
}

export async function checkTypes(root: string): Promise<Finding[]> {
  // The page is a program of its own: it knows a browser, and not Node.
  const projects = [".", "web"].map((project) => run("tsc", ["-p", project, "--pretty", "false"], root));
  const all = await Promise.all(projects);
  const ran = { code: Math.max(...all.map(({ code }) => code)), output: all.map(({ output }) => output).join("") };
  const findings = [...ran.output.matchAll(/^(.+?)\((\d+),\d+\): error (TS\d+): (.*)$/gm)].map(
    ([, file = "", line, code, message = ""]) => {
      return { file, line: Number(line), rule: `types/${code}`, message, fix: "say what the value is" };
    },
  );
  return orWhole("types", ran, findings);
}

interface LintDiagnostic {
  filename: string;
  code?: string;
  message: string;
  help?: string;
  labels: { span: { line: number } }[];
}

export async function checkLint(root: string): Promise<Finding[]> {
  const ran = await run("oxlint", ["--format=json", "--report-unused-disable-directives", "."], root);
  const findings = diagnosticsOf(ran.output).map(({ filename, code, message, help, labels }) => ({
    file: filename,
    line: labels[0]?.span.line ?? 1,
    rule: `lint/${code ?? "oxlint"}`,
    message,
    fix: help ?? "see the rule",
  }));
  return orWhole("lint", ran, findings);
}

/** Text that is no report is a fault of the tool's own, which the caller shows whole. */
function diagnosticsOf(output: string): LintDiagnostic[] {
  if (!output.trimStart().startsWith("{")) return [];
  const { diagnostics } = JSON.parse(output) as { diagnostics: LintDiagnostic[] };
  return diagnostics;
}

export async function checkFormat(root: string): Promise<Finding[]> {
  const ran = await run("oxfmt", ["--list-different", "."], root);
  const findings = ran.output
    .split("\n")
    .filter((line) => line !== "" && !line.includes(" "))
    .map((file) => ({ file, line: 1, rule: "format/layout", message: "is not formatted", fix: "npm run format" }));
  return orWhole("format", ran, findings);
}

interface KnipIssues {
  file: string;
  [kind: string]: string | { name: string; line?: number }[];
}

const unusedMends: Record<string, string> = {
  files: "use it, or delete it",
  exports: "do not export it",
  types: "do not export it",
  dependencies: "take it out of package.json",
  devDependencies: "take it out of package.json",
  unlisted: "add it to package.json",
  binaries: "add its package to package.json",
};

export async function checkUnused(root: string): Promise<Finding[]> {
  const ran = await run("knip", ["--reporter", "json", "--no-progress"], root);
  if (!ran.output.startsWith("{")) return orWhole("unused", ran, []);
  const { issues } = JSON.parse(ran.output) as { issues: KnipIssues[] };
  const findings = issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, found]) =>
      (typeof found === "string" ? [] : found).map(({ name, line }) => ({
        file,
        line: line ?? 1,
        rule: `unused/${kind}`,
        message: name === file ? "nothing uses the file" : name,
        fix: unusedMends[kind] ?? "fix the list",
      })),
    ),
  );
  return orWhole("unused", ran, findings);
}
