/**
 * Files that run by themselves (P4): an editor, a shell, git, a package manager, a build server or another agent reads them
 * without being asked, and does what they say. A permanent permission for changes does not cover them: each change is asked,
 * and the question says why. The names are matched in any case, because some file systems ignore it.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";

interface SelfRunning {
  /** Who acts on the file, and when. It follows the file's path. */
  why: string;
  /** Names of the file itself, or patterns of its path with forward slashes, in lower case. */
  files: readonly (string | RegExp)[];
}

const gitRuns = "git runs it or what it names";

const kinds: readonly SelfRunning[] = [
  {
    why: gitRuns,
    files: [
      ...[/(^|\/)\.(husky|githooks)\//, /\.git\/hooks\//, ".gitconfig", ".gitmodules", /(^|\/)\.?config\/git\//],
      // Every repository has a HEAD. So the folder of a new one, whose configuration git would follow, cannot be made without it.
      ...["head", ".gitattributes"],
      ...[
        /^\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
        ".pre-commit-config.yaml",
        ".huskyrc",
        /^\.?lint-?staged(rc)?\b.*$/,
      ],
    ],
  },
  {
    why: "the editor runs what it says when the folder is opened",
    files: [
      ...[/(^|\/)\.(vscode|idea|zed|fleet|devcontainer|nova)\//, /\.code-workspace$/, ".devcontainer.json"],
      ...[".exrc", ".vimrc", ".gvimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".sublime-project"],
      // Language servers run these as soon as they see a source file.
      ...["cargo.toml", "cmakelists.txt", /^eslint\.config\.[cm]?[jt]s$/, /^\.eslintrc(\.c?js)?$/],
      // Editors format with these when a file is saved; they are programs, or name some.
      ...[/^\.prettierrc(\..*)?$/, /^prettier\.config\./],
    ],
  },
  {
    why: "a shell runs it",
    files: [
      ...[".envrc", ".direnvrc", ".autoenv", "mise.toml", ".mise.toml", /(^|\/)\.?mise\/.*\.toml$/],
      ...[
        /^\.(bash|zsh|ksh|csh|tcsh|mksh)_?(rc|env|profile|login|logout|aliases)$/,
        ".profile",
        ".login",
        ".zlogin",
        ".zlogout",
      ],
      ...[".inputrc", "config.fish", /(^|\/)fish\/(conf\.d|functions)\//, ".tmux.conf", ".xinitrc", ".xprofile"],
    ],
  },
  {
    why: "a debugger or an interpreter runs it when it starts in the folder",
    files: [".gdbinit", ".lldbinit", ".rprofile", ".irbrc", ".pryrc", ".pdbrc", ".psqlrc", ".iex.exs", ".ghci"],
  },
  {
    why: "the package manager runs what it says when packages are installed",
    files: [
      ...[
        "package.json",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        "pnpm-workspace.yaml",
        ".pnp.cjs",
        "bunfig.toml",
      ],
      ...[
        /(^|\/)\.yarn\/(plugins|releases)\//,
        "composer.json",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "binding.gyp",
        "package.json5",
        "package.yaml",
        "gemfile",
        "pip.conf",
        ".pypirc",
      ],
      ...["deno.json", "deno.jsonc"],
    ],
  },
  {
    why: "editors and scripts of packages start it by its name",
    files: [/(^|\/)node_modules\/\.bin\//],
  },
  {
    why: "a build runs what it says",
    files: [
      ...["makefile", "gnumakefile", /\.mk$/, "justfile", ".justfile", /^taskfile(\.dist)?\.ya?ml$/, "rakefile"],
      ...[
        "build.rs",
        /(^|\/)\.cargo\/config(\.toml)?$/,
        /\.gradle(\.kts)?$/,
        "gradlew",
        "gradlew.bat",
        "gradle-wrapper.properties",
      ],
      ...["mvnw", "mvnw.cmd", /(^|\/)\.mvn\//, "conftest.py", "sitecustomize.py", "usercustomize.py", /\.pth$/],
    ],
  },
  {
    why: "the build server runs what it says",
    files: [
      ...[/(^|\/)\.(github|gitea|forgejo)\/(workflows|actions)\//, /(^|\/)\.(circleci|buildkite|woodpecker|ci)\//],
      ...[
        /^\.(gitlab-ci|travis|drone|woodpecker)\.ya?ml$/,
        /^(azure|bitbucket)-pipelines\.ya?ml$/,
        "jenkinsfile",
        "appveyor.yml",
      ],
    ],
  },
  {
    why: "agents start the programs that it names, or follow it as instructions",
    files: [
      ...[
        ".mcp.json",
        "mcp.json",
        /(^|\/)\.(claude|cursor|codex|gemini|aptove|windsurf|continue|roo|kiro|opencode|amazonq|clinerules)\//,
      ],
      ...[
        "agents.md",
        "agents.override.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
      ],
      ...["copilot-instructions.md", ".aider.conf.yml", "opencode.json", "gemini-extension.json"],
    ],
  },
  {
    why: "the system or a remote login acts on it",
    files: [
      /(^|\/)\.ssh\//,
      /(^|\/)\.config\/(autostart|systemd)\//,
      /(^|\/)(launchagents|launchdaemons)\//,
      /^crontab$/,
    ],
  },
];

/** How many names of the session's own folder count, for a session that was opened inside such a folder. */
const ownNamesMax = 2;

/** Returns why a file runs by itself, or null if it does not. Both paths are absolute. */
export function selfRunning(folder: string, path: string): string | null {
  const own = folder.split(sep).slice(-ownNamesMax);
  const names = [...own, ...relative(folder, path).split(sep)].map((name) => name.toLowerCase());
  const [whole, name = ""] = [names.join("/"), names.at(-1)];
  const isMeant = (file: string | RegExp): boolean => {
    if (typeof file === "string") return file === name;
    return file.source.startsWith("^") ? file.test(name) : file.test(whole);
  };
  return kinds.find(({ files }) => files.some(isMeant))?.why ?? (steersRepository(path) ? gitRuns : null);
}

/** The configuration of a repository, and where else git looks for one. */
const steeringNames = ["config", "config.worktree", "commondir"];

/** Returns true for the configuration or a hook of a repository whose folder may have any name. A HEAD beside it says that it is one. */
function steersRepository(path: string): boolean {
  const [name, folder] = [basename(path).toLowerCase(), dirname(path)];
  if (basename(folder).toLowerCase() === "hooks" && existsSync(join(dirname(folder), "HEAD"))) return true;
  return steeringNames.includes(name) && existsSync(join(folder, "HEAD"));
}
