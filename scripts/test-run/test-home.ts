/**
 * A home for one run of the tests: fresh folders for everything that a program may write to, and an
 * environment that points there and holds no key.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";

export interface TestHome {
  environment: NodeJS.ProcessEnv;
  /** A mark in the environment of every process of the run. */
  mark: string;
  /** Returns the remaining files and folders, relative to the home. */
  leftBehind(): string[];
  remove(): void;
}

/** Variables that would let the person's own set-up, keys or repository into a test. */
const cleared = /^(?:OPENAI_|APTOVE_|GIT_|PG|DATABASE_URL$|NODE_OPTIONS$|NODE_TEST_CONTEXT$|NO_COLOR$|FORCE_COLOR$)/;

const folderVariables: Record<string, readonly string[]> = {
  home: ["HOME", "USERPROFILE"],
  data: ["XDG_DATA_HOME", "LOCALAPPDATA"],
  config: ["XDG_CONFIG_HOME", "APPDATA"],
  state: ["XDG_STATE_HOME"],
  cache: ["XDG_CACHE_HOME"],
  runtime: ["XDG_RUNTIME_DIR"],
  tmp: ["TMPDIR", "TMP", "TEMP"],
};

export const markVariable = "TEST_RUN_MARK";

/** Makes the home below the folder. */
export function makeTestHome(outer: NodeJS.ProcessEnv, below: string): TestHome {
  const root = realpathSync(mkdtempSync(join(below, "tests-")));
  // A database server that a test starts may run as another user, and must be able to reach its own folder.
  chmodSync(root, 0o711);
  const kept = Object.entries(outer).filter(([name]) => !cleared.test(name));
  const environment: NodeJS.ProcessEnv = { ...Object.fromEntries(kept), [markVariable]: root };
  for (const [folder, names] of Object.entries(folderVariables)) {
    mkdirSync(join(root, folder), { mode: 0o700 });
    for (const name of names) environment[name] = join(root, folder);
  }
  chmodSync(join(root, "tmp"), 0o1777);
  return {
    environment,
    mark: root,
    leftBehind: () => Object.keys(folderVariables).flatMap((folder) => entriesOf(root, folder)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Caches of programs, which no test checks. */
const harmless = new Set(["node-compile-cache", "jiti"]);

function entriesOf(root: string, folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => !harmless.has(name))
    .map((name) => `${folder}/${name}`);
}
