/**
 * Ends a git that says nothing. A repository from a stranger can make git wait for ever, for example with a FIFO that its
 * configuration includes. A repository that did so is not asked again for a while, so that it costs one wait and not many.
 */
import { performance } from "node:perf_hooks";

/** How long git may say nothing. It needs less for the files of a large repository on a slow disk. */
export const gitSilenceMsMax = 30_000;
const refusalMs = 600_000;

/** The top folders of the repositories that let git wait, with the time until which they are refused. */
const refusedUntil = new Map<string, number>();

/** Returns why a repository is not asked, or null if it is. */
export function silenceOf(root: string): string | null {
  if ((refusedUntil.get(root) ?? 0) > performance.now()) {
    return `git did not answer within ${gitSilenceMsMax / 1_000} s; check what ${root}/.git/config includes, and that the files of the repository are regular ones`;
  }
  refusedUntil.delete(root);
  return null;
}

interface RunningGit {
  kill(signal: NodeJS.Signals): boolean;
  stdout: { on(event: "data", listener: () => void): unknown } | null;
  on(event: "close" | "error", listener: () => void): unknown;
}

/** Kills the process if it says nothing for too long. `root` is the repository that it is asked about. */
export function endIfSilent(child: RunningGit, root: string): void {
  const stop = (): void => {
    refusedUntil.set(root, performance.now() + refusalMs);
    child.kill("SIGKILL");
  };
  let timer = setTimeout(stop, gitSilenceMsMax);
  child.stdout?.on("data", () => {
    clearTimeout(timer);
    timer = setTimeout(stop, gitSilenceMsMax);
  });
  for (const event of ["close", "error"] as const) child.on(event, () => clearTimeout(timer));
}
