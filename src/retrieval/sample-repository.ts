/** A git repository for one test or benchmark. Its files are added to git. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface SampleRepository {
  readonly root: string;
  /** Writes files and adds them to git's index. Null removes a file from both. */
  write(files: Record<string, string | Uint8Array | null>): void;
  git(...args: string[]): string;
  /** Commits what was written. Returns the id of the commit. */
  commit(): string;
  remove(): void;
}

export function sampleRepository(files: Record<string, string | Uint8Array> = {}): SampleRepository {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "aptove-repository-")));
  const git = (...args: string[]): string => {
    const identity = ["-c", "user.name=Sample", "-c", "user.email=sample@example.com", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...identity, "-c", "core.hooksPath=", ...args], { cwd: root, encoding: "utf8" });
  };
  const repository: SampleRepository = {
    root,
    git,
    write(changes) {
      for (const [path, content] of Object.entries(changes)) {
        const file = join(root, path);
        mkdirSync(dirname(file), { recursive: true });
        if (content === null) rmSync(file, { force: true });
        else writeFileSync(file, content);
      }
      git("add", "--all");
    },
    commit() {
      git("commit", "--quiet", "--allow-empty", "--message", "sample");
      return git("rev-parse", "HEAD").trim();
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  git("init", "--quiet", "--template=");
  repository.write(files);
  return repository;
}
