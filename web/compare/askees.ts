/** Whom "Ask several" asks: up to four models or contexts, each with its repositories and a workspace. */
import type { ExecuteRequest } from "../../src/client/client.ts";
import { placeOf } from "../thread/choices.ts";

export interface Askee {
  /** The words that a turn takes for a model or a context. Empty: as configured, or as the turn before had it. */
  model: string;
  /** The repositories, in order (M7). Empty: no code is searched. */
  repos: readonly string[];
  /** Empty: none. */
  workspaceId: string;
}

export const askeesMax = 4;

/** The place where the instruction is asked: in a new session, below a turn, or beside a turn as it was asked there. */
export type Place = { kind: "new" } | { kind: "from" | "again"; turnId: string };

/** `asked` is the instruction of the turn that is asked again. */
export function requestOf(askee: Askee, place: Place, text: { instruction: string; asked: string }): ExecuteRequest {
  const { model, repos, workspaceId } = askee;
  const common = { ...(model !== "" && { model }) };
  const { instruction, asked } = text;
  if (place.kind === "from") return { ...common, instruction, fork: { turnId: place.turnId } };
  if (place.kind === "again") {
    const rerun = { turnId: place.turnId, asFork: true };
    return instruction === asked ? { ...common, rerun } : { ...common, rerun, instruction };
  }
  return { ...common, instruction, ...placeOf(repos), ...(workspaceId !== "" && { workspaceId }) };
}

/** Names each of them by what tells it from the others. */
export function labelsOf(askees: readonly Askee[], wordsOf: (model: string) => string): string[] {
  const hasSeveral = (key: keyof Askee): boolean => new Set(askees.map((one) => String(one[key]))).size > 1;
  const [models, places, workspaces] = [hasSeveral("model"), hasSeveral("repos"), hasSeveral("workspaceId")];
  return askees.map((askee, at) => {
    const { model, repos, workspaceId } = askee;
    const words = [
      (models || !(places || workspaces)) && wordsOf(model),
      places && (repos.length === 0 ? "no code" : repos.join(" and ")),
      workspaces && (workspaceId === "" ? "no workspace" : `workspace ${workspaceId.slice(0, 8)}`),
    ].filter((one) => typeof one === "string");
    const label = words.join(", ");
    const isTwice = askees.some((other, before) => before !== at && isSame(other, askee));
    return isTwice ? `${label} (${at + 1})` : label;
  });
}

function isSame(one: Askee, other: Askee): boolean {
  return (
    one.model === other.model && String(one.repos) === String(other.repos) && one.workspaceId === other.workspaceId
  );
}
