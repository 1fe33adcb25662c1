/** The options that choose the session of a turn and what goes with it; `ask` and `chat` share them. */
import type { AptoveClient } from "../../../client/client.ts";
import { UsageError } from "../failure.ts";
import { findSession, latestSession } from "../lookup/find-by-id.ts";

/** Options that `ask` and `chat` share. */
export interface TurnOptions {
  session?: string;
  continue?: boolean;
  new?: boolean;
  mode?: string;
  model?: string;
  repo?: string;
  /** Folders of more repositories, in order (M7). */
  addDir?: string[];
  /** Names of more repositories, in order, after those of `addDir`. */
  addRepo?: string[];
  lang?: string;
  context?: string;
  file?: string[];
  /** False if `--no-modified` was given. */
  modified?: boolean;
}

export function refuseContradiction(options: TurnOptions & { fork?: string; rerun?: string; resume?: boolean }): void {
  const { session, fork, rerun } = options;
  refuseSeveral([
    ["--session", session !== undefined],
    ["--continue", options.continue],
    ["--new", options.new],
    ["--resume", options.resume],
    ["--fork", fork !== undefined],
    ["--rerun", rerun !== undefined],
  ]);
}

export function refuseSeveral(options: [name: string, isGiven: boolean | undefined][]): string | null {
  const named = options.filter(([, isGiven]) => isGiven === true).map(([name]) => name);
  if (named.length > 1) throw new UsageError(`${named.join(" and ")} contradict each other`, "give one of them");
  return named[0] ?? null;
}

/** Returns the id of the session to continue. Null means a new session. */
export async function chosenSession(client: AptoveClient, options: TurnOptions, repo: string): Promise<string | null> {
  if (options.session !== undefined) return (await findSession(client, options.session, repo)).id;
  return options.continue === true ? (await latestSession(client, repo)).id : null;
}
