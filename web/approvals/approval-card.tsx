/** One question: the exact command or change, where, by whom, and the answers (U8). */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { WireApprovals } from "../../src/client/client.ts";
import { client, codeOf, me, wordsOf } from "../api/connection.ts";
import { look, waiting } from "../api/live.ts";
import { CallContent } from "../thread/tool-call.tsx";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { pathTo } from "../routes.ts";

export type WaitingCall = WireApprovals["approvals"][number];

export function ApprovalCard({
  call,
  onAnswered,
  isAlone = false,
}: {
  call: WaitingCall;
  onAnswered?: () => void;
  isAlone?: boolean;
}) {
  const [reason, setReason] = useState("");
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { view, name, sessionName, sessionId, userId, since, budgetIds } = call;
  const answer = async (given: Given): Promise<void> => {
    setBusy(true);
    setFault("");
    try {
      await send(call, given);
    } catch (error) {
      // Another client was first. Then the question is gone, and that is no failure.
      if (!["question_not_open", "tool_feedback_invalid", "head_moved"].includes(codeOf(error)))
        setFault(wordsOf(error));
    }
    setBusy(false);
    onAnswered?.();
    await look();
  };
  const earlier = given.value.get(call.callId);
  if (earlier !== undefined) {
    return (
      <p class="notice">
        {earlier.approved ? "Allowed" : "Denied"}: {shownText(view?.title ?? name)}. The other calls of this turn wait
        for an answer too.
      </p>
    );
  }
  const Heading = isAlone ? "h2" : "h3";
  return (
    <section class="approval" aria-label={`${sessionName} waits for you`}>
      {isAlone && (
        <p>
          <span class="mark wait" /> <a href={pathTo("session", { session: sessionId })}>{shownText(sessionName)}</a>{" "}
          <Time at={since} />
        </p>
      )}
      <Heading>{headingOf(call)}</Heading>
      {budgetIds === undefined ? <Wanted call={call} /> : <PassedBudget call={call} />}
      {userId !== me.value?.userId && <p class="dim small-text">asked by user {userId}</p>}
      {fault !== "" && <p role="alert">{fault}</p>}
      {budgetIds === undefined && (
        <label class="reason">
          <span class="spoken">Why not</span>
          <input
            placeholder="No, because …"
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
      )}
      <Answers call={call} isBusy={isBusy} reason={reason.trim()} answer={(one) => void answer(one)} />
    </section>
  );
}

const verbs: Partial<Record<string, string>> = {
  execute: "run",
  edit: "change a file",
  delete: "delete",
  move: "move",
  fetch: "fetch",
};

function headingOf({ view, name, budgetIds }: WaitingCall): string {
  if (budgetIds !== undefined) return "The next call of the model could pass a budget";
  return `The model wants to ${verbs[view?.kind ?? ""] ?? `use ${shownText(name)}`}`;
}

/** What the model wants to do. */
function Wanted({ call: { view, name, args } }: { call: WaitingCall }) {
  return (
    <>
      <p class="approval-title">{shownText(view?.title ?? name)}</p>
      <CallContent view={view} args={JSON.stringify(args)} />
      {(view?.locations.length ?? 0) > 0 && (
        <p class="dim small-text">
          in <bdi>{view?.locations.map(({ path }) => shownText(path)).join(", ")}</bdi>
        </p>
      )}
    </>
  );
}

/** The model wants nothing here: a person decides what its next call may cost (F11). */
function PassedBudget({ call: { args } }: { call: WaitingCall }) {
  return (
    <>
      <p>The turn waits: {shownText(String(args["reason"]))}.</p>
      <p class="dim small-text">
        "Allow once" makes this one call and counts it in the budget, if you may set the budget. Otherwise it tries the
        call again, which helps after the budget was raised. "No" ends the turn, and what it has done is kept.
      </p>
    </>
  );
}

interface Given {
  approved: boolean;
  always?: boolean;
  reason?: string;
}

interface AnswersProps {
  call: WaitingCall;
  isBusy: boolean;
  reason: string;
  answer(given: Given): void;
}

function Answers({ call: { always, budgetIds }, isBusy, reason, answer }: AnswersProps) {
  return (
    <>
      <div class="answers">
        <button
          type="button"
          disabled={isBusy}
          onClick={() => answer({ approved: false, ...(reason !== "" && { reason }) })}
        >
          No
        </button>
        {always !== undefined && "label" in always && (
          <button type="button" disabled={isBusy} onClick={() => answer({ approved: true, always: true })}>
            Always this, here
          </button>
        )}
        <button type="button" class="primary" disabled={isBusy} onClick={() => answer({ approved: true })}>
          Allow once
        </button>
      </div>
      {budgetIds === undefined && <Always always={always} />}
    </>
  );
}

/** Says what exactly "always" allows, or why it is not offered. */
function Always({ always }: { always: WaitingCall["always"] | undefined }) {
  // A server of an earlier version offers nothing, and a later one may have other reasons.
  const words =
    always === undefined
      ? undefined
      : "label" in always
        ? `"Always" allows: ${shownText(always.label)}, ${always.scope === "chat" ? "as long as that chat runs" : "in this workspace"}.`
        : whyNotAlways[always.not];
  return words === undefined ? null : <p class="dim small-text">{words}</p>;
}

const whyNotAlways: Partial<Record<string, string>> = {
  each_time: "Each call like this one is asked.",
  no_workspace: "This session has no workspace that could keep a permanent permission.",
  not_yours: "Only the person whose machine or server it is can allow this permanently.",
  device: "A device can allow a call once. A permanent permission needs a browser that is signed in as yourself.",
};

/** Answers to calls of parked turns, which go together: the turn goes on when each of its calls has an answer. */
const given = signal<ReadonlyMap<string, Given>>(new Map());

async function send({ isParked, turnId, callId, sessionId, mode }: WaitingCall, answer: Given): Promise<void> {
  if (!isParked) return await client.turns.answerQuestion(turnId, { callId, ...answer });
  given.value = new Map([...given.value, [callId, answer]]);
  const calls = (waiting.value ?? []).filter((one) => one.turnId === turnId);
  const results = calls.flatMap((one) => {
    const found = given.value.get(one.callId);
    return found === undefined ? [] : [{ callId: one.callId, ...found }];
  });
  if (results.length < calls.length) return;
  try {
    await client.start({ sessionId, responseContinuationId: turnId, toolResults: results, mode });
  } catch (error) {
    // The person is asked again. The answers to the other calls are kept.
    given.value = new Map([...given.value].filter(([id]) => id !== callId));
    throw error;
  }
}
