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

/** The part of the wait that is its end. A process that was paused reads in it what git has written meanwhile. */
const lastPart = 1 / 30;

/** The wait for the next output of one git. */
export interface SilenceWatch {
  /** Git has written something. */
  spoke(): void;
  /** Git has ended. */
  end(): void;
}

/** Calls `stop` if git says nothing for too long. `root` is the repository that it is asked about. */
export function watchSilence(root: string, stop: () => void, silenceMsMax: number = gitSilenceMsMax): SilenceWatch {
  const lastMs = silenceMsMax * lastPart;
  const refuse = (): void => {
    refusedUntil.set(root, performance.now() + refusalMs);
    stop();
  };
  const wait = (): NodeJS.Timeout => setTimeout(() => (timer = setTimeout(refuse, lastMs)), silenceMsMax - lastMs);
  let timer = wait();
  return {
    spoke: () => {
      clearTimeout(timer);
      timer = wait();
    },
    end: () => clearTimeout(timer),
  };
}

interface RunningGit {
  kill(signal: NodeJS.Signals): boolean;
  stdout: { on(event: "data", listener: () => void): unknown } | null;
  on(event: "close" | "error", listener: () => void): unknown;
}

/** Kills the process if it says nothing for too long. `root` is the repository that it is asked about. */
export function endIfSilent(child: RunningGit, root: string): void {
  const watch = watchSilence(root, () => child.kill("SIGKILL"));
  child.stdout?.on("data", () => watch.spoke());
  for (const event of ["close", "error"] as const) child.on(event, () => watch.end());
}
