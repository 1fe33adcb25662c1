/** What shells complete, and the manual page: both are made from the declarations. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";

test("[L1] the completion of bash offers commands and options where they can stand", async (t) => {
  const world = await cliWorld(t);
  const script = (await world.run(["completion", "bash"])).stdout;
  const completed = (...words: string[]): string[] => {
    const line = words.map((word) => `"${word}"`).join(" ");
    const ask = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _aptove; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", ask], { encoding: "utf8" }).trim().split("\n");
  };
  assert.deepEqual(completed("aptove", "sess"), ["session"]);
  assert.deepEqual(completed("aptove", "session", "re").toSorted().slice(0, 2), ["rename", "rerun"]);
  assert.ok(completed("aptove", "chat", "--").includes("--resume"));
  assert.ok(completed("aptove", "--json", "workspace", "").includes("create"));
  assert.deepEqual(completed("aptove", "chat", "--res"), ["--resume"]);
});

test("[L1] zsh, fish and the manual name every command; another shell is refused with those that there are", async (t) => {
  const world = await cliWorld(t);
  const texts = await Promise.all(
    [["completion", "zsh"], ["completion", "fish"], ["manual"]].map(async (argv) => (await world.run(argv)).stdout),
  );
  for (const text of texts) {
    for (const word of ["chat", "workspace create", "session log", "doctor", "completion"]) {
      assert.ok(text.includes(word), word);
    }
  }
  assert.match(
    texts[2] ?? "",
    /^\.TH APTOVE 1[^]*\.SS\naptove chat \[instruction\.\.\.\]\n[^]*\.B \\-r, \\-\\-resume\n/,
  );
  const wrong = await world.run(["completion", "csh"]);
  assert.equal(wrong.exit, 2);
  assert.match(wrong.stderr, /bash, zsh, fish/);
});
