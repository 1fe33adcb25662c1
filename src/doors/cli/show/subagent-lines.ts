/** Lines about subagents, and about the mailbox where they leave their answers (A1, A2). */
import type { AptoveCustomEvent } from "../../../client/client.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { plural } from "../../../system/grouped-number.ts";

type SubagentEvent = Extract<AptoveCustomEvent, { name: "aptove.subagent_started" | "aptove.subagent_ended" }>;

export function subagentLine(event: SubagentEvent): string {
  const { name, turnId } = event.value;
  const who = `subagent "${name}"`;
  if (event.name === "aptove.subagent_started") return `${who} runs in turn ${shortId(turnId)}`;
  return `${who} ${event.value.status === "failed" ? "failed" : "has ended"}; its answer waits in the mailbox`;
}

/**
 * Returns one line about the mailbox. Null if there is nothing to report. `way` is how the messages can be delivered
 * here.
 */
export function mailboxLine({ waiting, running }: { waiting: number; running: number }, way: string): string | null {
  const works = running === 0 ? [] : [`${plural(running, "subagent")} running`];
  const waits = waiting === 0 ? [] : [`${plural(waiting, "answer")} in the mailbox; send them to the model: ${way}`];
  return [...works, ...waits].join(" · ") || null;
}
