/** What each measured program gets: a model in a process of its own, and folders that exist only for the run. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { end, firstLine, startProgram, type Child } from "./programs.ts";

const repositoryFiles = 200;
const memoryFileSystem = 0x01_02_19_94;

export type ModelKind = "words" | "prose" | "coding" | "stamp" | "paced";

export interface Surroundings {
  /** A folder outside any repository. */
  folder: string;
  project: string;
  /** A git repository with a commit of 200 files. It is made when it is first asked for. */
  repository(): string;
  modelUrl(kind: ModelKind): string;
  /** Returns a new empty folder. */
  newFolder(): string;
  /** The environment of a program whose provider is the model. */
  env(kind: ModelKind): Record<string, string | undefined>;
  end(): Promise<void>;
}

export async function surroundings(): Promise<Surroundings> {
  if (statfsSync(tmpdir()).type === memoryFileSystem)
    console.error("The temporary folder is in memory, so a sync costs nothing.");
  const folder = mkdtempSync(join(tmpdir(), "aptove-bench-"));
  const project = join(folder, "project");
  mkdirSync(project);
  const child: Child = await startProgram("fake-model", { args: [], core: 1 });
  const { url } = await firstLine<{ url: string }>(child);
  const modelUrl = (kind: ModelKind): string => `${url}/${kind}/v1`;
  let folders = 0;
  let repository: string | null = null;
  return {
    folder,
    project,
    repository: () => (repository ??= madeRepository(join(folder, "repository"))),
    modelUrl,
    newFolder: () => {
      const made = join(folder, `data-${(folders += 1)}`);
      mkdirSync(made, { mode: 0o700 });
      return made;
    },
    env: (kind) => ({
      ...process.env,
      HOME: folder,
      OPENAI_API_KEY: "sk-bench-0123456789",
      OPENAI_BASE_URL: modelUrl(kind),
      APTOVE_MODEL: "bench-1",
    }),
    end: async () => {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function madeRepository(folder: string): string {
  mkdirSync(folder);
  for (let number = 0; number < repositoryFiles; number += 1)
    writeFileSync(join(folder, `part-${number}.ts`), `export const part = ${number};\n`);
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: folder });
  git("init", "--quiet");
  git("add", ".");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "commit", "--quiet", "--message", "Add parts");
  return folder;
}
