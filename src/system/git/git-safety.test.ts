/** Repositories as a stranger could make them: nothing in them runs, and none points at another one. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { askGit } from "./git.ts";

const answerBytesMax = 65_536;
const modified = ["diff-index", "--name-only", "--ignore-submodules=all", "HEAD"];
const questions = [
  modified,
  ["ls-files", "--others", "--deleted", "--cached", "--exclude-standard"],
  ["rev-parse", "--show-toplevel"],
  ["config", "--get", "remote.origin.url"],
  ["ls-tree", "-r", "HEAD"],
];

interface Planted {
  /** The folder with the hostile repository, and beside it the repository `private` of the person. */
  folder: string;
  inside: string;
  secret: string;
  git(...args: string[]): string;
  /** A program that leaves a trace, and whether it left one. */
  program: string;
  wasRun(): boolean;
}

async function planted(t: TestContext): Promise<Planted> {
  const folder = await temporaryFolder(t);
  const [hostile, secret] = ["hostile", "private"].map((name) => join(folder, name)) as [string, string];
  for (const [root, text] of [
    [hostile, "seen"],
    [secret, "secret"],
  ] as const) {
    execFileSync("git", ["init", "--quiet", root]);
    writeFileSync(join(root, "a.txt"), text);
    execFileSync("git", ["add", "."], { cwd: root });
    commit(root);
  }
  const trace = join(folder, "was-run");
  const program = join(folder, "program.sh");
  writeFileSync(program, `#!/bin/sh\ntouch '${trace}'\ncat\n`);
  chmodSync(program, 0o700);
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: hostile, encoding: "utf8" });
  return { folder, inside: hostile, secret, git, program, wasRun: () => existsSync(trace) };
}

function commit(root: string): void {
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "first"], { cwd: root });
}

/** Makes git compare the content of a file: it has another time, but the same size. */
function touch({ inside }: Planted): void {
  utimesSync(join(inside, "a.txt"), 1_000_000, 1_000_000);
}

async function askAll({ inside }: Planted): Promise<void> {
  for (const args of questions) await askGit({ folder: inside, args, answerBytesMax });
  await askGit({ folder: inside, args: ["hash-object", "--stdin-paths"], input: "a.txt\n", answerBytesMax });
}

const filterNames = ["evil", "a=b", "a.b", "UPPER case", "ü", "", 'quote"d'];
const plants: Record<string, (planted: Planted) => void> = {
  "a watcher of files": ({ git, program }) => git("config", "core.fsmonitor", program),
  "a hook, in its usual place": ({ inside, program }) => cpSync(program, join(inside, ".git/hooks/post-index-change")),
  "a hook, in a folder that the configuration names": ({ git, inside, program }) => {
    mkdirSync(join(inside, "hooks"));
    cpSync(program, join(inside, "hooks/post-index-change"));
    git("config", "core.hooksPath", "hooks");
  },
  "a program that shows differences": ({ git, inside, program }) => {
    git("config", "diff.external", program);
    git("config", "diff.evil.textconv", program);
    git("config", "diff.evil.command", program);
    writeFileSync(join(inside, ".gitattributes"), "* diff=evil\n");
  },
  "a filter, in a file that the configuration includes": ({ git, inside, program }) => {
    writeFileSync(join(inside, "more"), `[filter "evil"]\n\tclean = ${program}\n`);
    git("config", "include.path", "../more");
    writeFileSync(join(inside, ".git/info/attributes"), "* filter=evil\n");
  },
  "a filter, in a branch's configuration": ({ git, inside, program }) => {
    writeFileSync(join(inside, "more"), `[filter "evil"]\n\tprocess = ${program}\n`);
    git("config", "includeIf.onbranch:**.path", "../more");
    writeFileSync(join(inside, ".gitattributes"), "* filter=evil\n");
  },
  "a filter, in the configuration of one working tree": ({ git, program, inside }) => {
    git("config", "extensions.worktreeConfig", "true");
    git("config", "--worktree", "filter.evil.clean", program);
    writeFileSync(join(inside, ".gitattributes"), "* filter=evil\n");
  },
  "a filter whose name is no text": ({ inside, program }) => {
    const name = Buffer.from([0xff, 0xfe]);
    const config = join(inside, ".git/config");
    appendFileSync(config, Buffer.concat([Buffer.from('[filter "'), name, Buffer.from(`"]\n\tclean = ${program}\n`)]));
    appendFileSync(join(inside, ".gitattributes"), Buffer.concat([Buffer.from("* filter="), name, Buffer.from("\n")]));
  },
  "a submodule with a filter": ({ inside, folder, git, program }) => {
    const other = join(folder, "private");
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "module");
    git("commit", "-qm", "second", "--author=A <a@example.org>");
    execFileSync("git", ["config", "filter.evil.clean", program], { cwd: join(inside, "module") });
    writeFileSync(join(inside, ".git/modules/module/info/attributes"), "* filter=evil\n");
    utimesSync(join(inside, "module/a.txt"), 1_000_000, 1_000_000);
  },
  "a program that fetches missing objects": ({ inside, git, program }) => {
    const [tree] = git("rev-parse", "HEAD^{tree}").split("\n");
    rmSync(join(inside, ".git/objects", (tree ?? "").slice(0, 2)), { recursive: true, force: true });
    git("config", "core.repositoryformatversion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "remote.origin.promisor", "true");
    git("config", "remote.origin.url", inside);
    git("config", "remote.origin.uploadpack", program);
    git("config", "protocol.file.allow", "always");
  },
};
for (const kind of ["clean", "process"]) {
  for (const name of filterNames) {
    plants[`a filter: filter.${JSON.stringify(name)}.${kind}`] = ({ inside, program }) => {
      const quoted = name.replaceAll('"', '\\"');
      appendFileSync(join(inside, ".git/config"), `[filter "${quoted}"]\n\t${kind} = ${program}\n\trequired = true\n`);
      writeFileSync(join(inside, ".gitattributes"), `* filter=${name}\n`);
    };
  }
}

for (const [what, plant] of Object.entries(plants)) {
  for (const isAskedBefore of [false, true]) {
    const when = isAskedBefore ? ", later than it was asked first" : "";
    test(`[P5] no question to git runs what a repository names: ${what}${when}`, async (t) => {
      process.env["GIT_COMMITTER_NAME"] = process.env["GIT_COMMITTER_EMAIL"] = "a";
      t.after(() => ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"].forEach((name) => delete process.env[name]));
      const all = await planted(t);
      if (isAskedBefore) {
        afterAMinute(t);
        await askAll(all);
      }
      plant(all);
      touch(all);
      await askAll(all);
      assert.ok(!all.wasRun());
    });
  }
}

/** What a repository says is only remembered once its files have been unchanged for a moment. */
function afterAMinute(t: TestContext): void {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 60_000 });
}

test("[P5] a filter that gets another name in a file of the same size and time is switched off", async (t) => {
  const all = await planted(t);
  const config = join(all.inside, ".git/config");
  const text = readFileSync(config, "utf8");
  const named = (name: string): void => {
    writeFileSync(config, `${text}[filter "${name}"]\n\tclean = ${all.program}\n`);
    utimesSync(config, 1_000_000, 1_000_000);
  };
  named("good");
  writeFileSync(join(all.inside, ".gitattributes"), "* filter=evil\n");
  afterAMinute(t);
  await askAll(all);
  named("evil");
  touch(all);
  await askAll(all);
  assert.ok(!all.wasRun());
});

/** Puts a git in front of git that notes its calls. Returns how often the names of filters were read since the last time. */
function countReadings(t: TestContext, folder: string): () => number {
  const { PATH } = process.env;
  t.after(() => void (process.env["PATH"] = PATH));
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  const [programs, calls] = [join(folder, "programs"), join(folder, "calls")];
  mkdirSync(programs);
  writeFileSync(join(programs, "git"), `#!/bin/sh\necho "$*" >> '${calls}'\nexec '${real}' "$@"\n`, { mode: 0o700 });
  process.env["PATH"] = `${programs}:${PATH}`;
  return () => {
    const lines = existsSync(calls) ? readFileSync(calls, "utf8").split("\n") : [];
    rmSync(calls, { force: true });
    return lines.filter((line) => line.includes("--get-regexp")).length;
  };
}

test("[X1] [P5] the names of filters are read again when a file changes that they may come from, and not else", async (t) => {
  const all = await planted(t);
  const home = join(all.folder, "home");
  mkdirSync(home);
  for (const [name, value] of Object.entries({ HOME: home, XDG_CONFIG_HOME: join(home, "xdg") })) {
    const { [name]: former } = process.env;
    t.after(() => (former === undefined ? delete process.env[name] : (process.env[name] = former)));
    process.env[name] = value;
  }
  const readings = countReadings(t, all.folder);
  const ask = async (): Promise<number> => {
    await askGit({ folder: all.inside, args: modified, answerBytesMax });
    return readings();
  };
  assert.deepEqual([await ask(), await ask()], [1, 1], "files that have just changed");
  afterAMinute(t);
  assert.deepEqual([await ask(), await ask()], [1, 0]);
  mkdirSync(join(home, "xdg/git"), { recursive: true });
  for (const file of [
    join(home, ".gitconfig"),
    join(home, "xdg/git/config"),
    join(all.inside, ".git/config.worktree"),
  ]) {
    writeFileSync(file, "[some]\n\tname = value\n");
    assert.deepEqual([await ask(), await ask()], [1, 0], file);
  }
  process.env["GIT_CONFIG_COUNT"] = "0";
  t.after(() => void delete process.env["GIT_CONFIG_COUNT"]);
  assert.deepEqual([await ask(), await ask()], [1, 0], "a variable");
  t.mock.timers.tick(600_000);
  assert.deepEqual([await ask(), await ask()], [1, 0], "a long time");
  all.git("config", "include.path", "../more");
  assert.deepEqual([await ask(), await ask()], [1, 1], "what includes other files");
});

test("[P5] a program of the repository is not run as git, although PATH names its folder", async (t) => {
  const place = await planted(t);
  mkdirSync(join(place.inside, "bin"));
  copyFileSync(place.program, join(place.inside, "bin", "git"));
  const { PATH } = process.env;
  t.after(() => (process.env["PATH"] = PATH));
  process.env["PATH"] = `bin:./bin::${PATH}`;
  await askAll(place);
  assert.equal(place.wasRun(), false);
  assert.equal(
    (await askGit({ folder: place.inside, args: ["rev-parse", "--show-toplevel"], answerBytesMax })).outcome,
    "answered",
  );
});

test("[P5] the planted filters are real: git itself runs them", async (t) => {
  const all = await planted(t);
  plants['a filter: filter."a=b".clean']?.(all);
  touch(all);
  all.git("status", "--porcelain");
  assert.ok(all.wasRun());
});

test("[X1] a filter that is switched off leaves the content as it is, and nothing is written to the repository", async (t) => {
  const all = await planted(t);
  plants['a filter: filter."evil".clean']?.(all);
  touch(all);
  const index = join(all.inside, ".git/index");
  const before = readFileSync(index);
  const args = ["hash-object", "--stdin-paths"];
  const answer = await askGit({ folder: all.inside, args, input: "a.txt\n", answerBytesMax });
  const text = all.git("rev-parse", "HEAD:a.txt");
  assert.deepEqual(answer, { outcome: "answered", text });
  await askAll(all);
  assert.deepEqual(readFileSync(index), before);
});

const redirects: Record<string, (planted: Planted) => void> = {
  "its folder is a link": ({ inside, secret }) => {
    rmSync(join(inside, ".git"), { recursive: true });
    symlinkSync(join(secret, ".git"), join(inside, ".git"));
  },
  "a file names the other one": ({ inside }) => {
    rmSync(join(inside, ".git"), { recursive: true });
    writeFileSync(join(inside, ".git"), "gitdir: ../private/.git\n");
  },
  "it shares the other one": ({ inside }) => writeFileSync(join(inside, ".git/commondir"), "../../private/.git\n"),
  "it claims to be a working tree of the other one": ({ inside }) => {
    rmSync(join(inside, ".git"), { recursive: true });
    const own = join(inside, "worktrees/x");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(inside, ".git"), "gitdir: worktrees/x\n");
    writeFileSync(join(own, "gitdir"), `${join(inside, ".git")}\n`);
    writeFileSync(join(own, "commondir"), "../../../private/.git\n");
    writeFileSync(join(own, "HEAD"), "ref: refs/heads/master\n");
  },
  "it borrows objects": ({ inside, secret }) => {
    writeFileSync(join(inside, ".git/objects/info/alternates"), `${join(secret, ".git/objects")}\n`);
  },
  "its objects are a link": ({ inside, secret }) => {
    renameSync(join(inside, ".git/objects"), join(inside, "old"));
    symlinkSync(join(secret, ".git/objects"), join(inside, ".git/objects"));
  },
  "its branch is a link": ({ inside, secret, git }) => {
    const branch = git("symbolic-ref", "HEAD").trim();
    rmSync(join(inside, ".git", branch));
    symlinkSync(join(secret, ".git", branch), join(inside, ".git", branch));
  },
};

for (const [what, plant] of Object.entries(redirects)) {
  test(`[P5] a repository that leads to another one is not asked: ${what}`, async (t) => {
    const all = await planted(t);
    plant(all);
    for (const args of questions) {
      const answer = await askGit({ folder: all.inside, args, answerBytesMax });
      assert.equal(answer.outcome, "failed", args.join(" "));
    }
  });
}

test("[X1] a repository that names another working tree answers about the folder that it is in", async (t) => {
  const all = await planted(t);
  all.git("config", "core.worktree", "../../private");
  writeFileSync(join(all.secret, "a.txt"), "a modified secret");
  const top = await askGit({ folder: all.inside, args: ["rev-parse", "--show-toplevel"], answerBytesMax });
  assert.deepEqual(top, { outcome: "answered", text: `${all.inside}\n` });
  const files = await askGit({ folder: all.inside, args: modified, answerBytesMax });
  assert.deepEqual(files, { outcome: "answered", text: "" });
});

test("[X1] linked working trees, submodules and repositories beside their files are asked as before", async (t) => {
  const all = await planted(t);
  const { folder, git, inside, secret } = all;
  git("worktree", "add", "--quiet", join(folder, "linked"));
  execFileSync("git", ["init", "--quiet", "--separate-git-dir", join(folder, "apart.git"), join(folder, "apart")]);
  execFileSync("git", ["config", "core.worktree", join(folder, "apart")], { cwd: join(folder, "apart") });
  git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", secret, "module");
  for (const root of [inside, join(folder, "linked"), join(folder, "apart"), join(inside, "module")]) {
    mkdirSync(join(root, "deep/er"), { recursive: true });
    const args = ["rev-parse", "--show-toplevel"];
    const answer = await askGit({ folder: join(root, "deep/er"), args, answerBytesMax });
    assert.deepEqual(answer, { outcome: "answered", text: `${root}\n` });
  }
});

test("[P5] the folder of git itself is not asked", async (t) => {
  const { inside } = await planted(t);
  const answer = await askGit({ folder: join(inside, ".git/hooks"), args: ["rev-parse", "--git-dir"], answerBytesMax });
  assert.equal(answer.outcome, "failed");
});
