/**
 * A program that asks git one question: `<what> <folder>`. `answer` prints what git answers, and nothing but the question keeps it
 * alive. `exit` lets git hang on the FIFO of the folder, and ends
 * when its input ends. `full` asks when no descriptor is left.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { runGitCall } from "../../src/system/git/git-run.ts";

const [what = "", folder = ""] = process.argv.slice(2);
const call = { cwd: folder, root: folder, env: process.env, outputBytesMax: 1_024 };
const question = { ...call, args: ["rev-parse", "--is-inside-work-tree"] };

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function openAll(): number[] {
  const opened: number[] = [];
  for (;;) {
    try {
      opened.push(openSync("/dev/null", "r"));
    } catch {
      // None is left.
      return opened;
    }
  }
}

if (what === "answer") void runGitCall(question).then((ran) => print(ran));
if (what === "exit") {
  void runGitCall({ ...call, args: ["hash-object", join(folder, "fifo")] });
  process.stdin.resume().on("end", () => process.exit(0));
}
if (what === "full") {
  const opened = openAll();
  const ran = await runGitCall(question);
  for (const descriptor of opened) closeSync(descriptor);
  print([ran.outcome, await runGitCall(question)]);
}
