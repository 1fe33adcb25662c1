/**
 * How git is asked about a folder that somebody else may have made. A repository's own configuration can name programs,
 * and git runs them also for questions that only read; none of them may be run because a file was listed.
 */

/** In front of git's subcommand. */
export const gitQuestionOptions: readonly string[] = [
  // A program that tells which files changed.
  ...["-c", "core.fsmonitor=false"],
  // A folder of the repository that looks like git's own, with a configuration of its own, that a clone brings along.
  ...["-c", "safe.bareRepository=explicit"],
];

/** The environment without what points git at another repository; nothing is fetched, asked or locked. */
export function gitQuestionEnvironment(
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  // A person's own configuration, and where git stops looking for a repository, stay theirs to say.
  const kept = Object.entries(own).filter(([name]) => !/^GIT_(?!CONFIG_|CEILING_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    // Objects that are missing would be fetched, by programs that the repository names. Old versions of git know only
    // the second of these: no way of fetching is allowed.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
}
