/** What callers do with turns: they run, follow, steer and stop them, answer their questions, and read them. */
import type { Caller } from "../../domain/caller.ts";
import type { Turn, TurnKind } from "../../domain/turn.ts";
import { pageLimit } from "../access/access.ts";
import type { AccessWatch } from "../access/access-watch.ts";
import { announcing } from "../access/org-changes.ts";
import { visibleSession, visibleTurn } from "../access/visible.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { Turns } from "../engine.ts";
import { runAndAllow } from "./allow-parked.ts";
import { checkTurnRequest } from "./check-request.ts";
import { estimateTurn } from "./estimate-turn.ts";
import { findByHistory } from "./find-by-history.ts";
import { historyOf } from "./history-of.ts";
import { lineage } from "./kept/turn-order.ts";
import { askClientQuestion, withdrawClientQuestion } from "./live/client-questions.ts";
import { interrupt, steer } from "./live/control.ts";
import type { EngineCore } from "./live/engine-core.ts";
import { answerQuestion, openQuestions, runningNow } from "./live/questions.ts";
import { checkEndIsKnown, checkPosition, eventsOf } from "./live/turn-events.ts";
import { waitingCalls } from "./live/waiting.ts";
import { turnReader } from "./turn-reader.ts";

export function turns(core: EngineCore, watch: AccessWatch): Turns {
  const { deps } = core;
  const verbs: Turns = {
    run: async (caller, request) => {
      checkTurnRequest(caller, request);
      const running = await runAndAllow(core, caller, request);
      const { sessionId, turnId } = running;
      // Who makes the first turn owns the session (S4), and never loses it.
      if (turnId === sessionId) return running;
      const right = watch.of(caller, sessionId);
      return { ...running, events: (signal) => eventsOf(core, turnId, { afterSeq: 0, signal, right }) };
    },
    events: async (caller, turnId, { afterSeq = 0, signal, until } = {}) => {
      const turn = await visibleTurn(deps, caller, turnId);
      await checkPosition(core, turn, afterSeq);
      await checkEndIsKnown(core, turnId, afterSeq);
      // What is finished is read in one go.
      const right = turn.status === "pending" ? watch.of(caller, turn.sessionId) : undefined;
      return eventsOf(core, turnId, { afterSeq, signal, until, right });
    },
    steer: (caller, target) => steer(core, caller, target),
    interrupt: (caller, target) => interrupt(core, caller, target),
    running: (caller, sessionId) => runningNow(core, caller, sessionId),
    waiting: (caller) => waitingCalls(core, caller),
    questions: (caller, turnId) => openQuestions(core, caller, turnId),
    answerQuestion: (caller, answer) => answerQuestion(core, caller, answer),
    askQuestion: (caller, question) => askClientQuestion(core, caller, question),
    withdrawQuestion: (caller, question) => withdrawClientQuestion(deps, caller, question),
    find: (caller, items, below) => findByHistory(core, caller, { items, below }),
    estimate: async (caller, request) => {
      checkTurnRequest(caller, request);
      return await estimateTurn(core, caller, request);
    },
    get: (caller, id) => visibleTurn(deps, caller, id),
    ofKey: async (caller, key) => {
      const made = await deps.records.turns.findIdempotent(caller.userId, key);
      return made === null ? null : await visibleTurn(deps, caller, made.turnId);
    },
    list: (caller, sessionId, page) => listTurns(deps, caller, { ...page, sessionId }),
    read: async (caller, id) => turnReader(core, await visibleTurn(deps, caller, id)),
    history: (caller, turnId) => historyOf(core, caller, turnId),
    lineage: async (caller, turnId) => {
      const { id } = await visibleTurn(deps, caller, turnId);
      return await Array.fromAsync(lineage(deps.records, id));
    },
  };
  return announcing(core.changes, verbs, ["answerQuestion", "withdrawQuestion"]);
}

interface TurnPage {
  sessionId: string;
  before?: number;
  limit?: number;
  kind?: TurnKind;
}

async function listTurns(
  deps: EngineDependencies,
  caller: Caller,
  { sessionId, limit, ...page }: TurnPage,
): Promise<Turn[]> {
  await visibleSession(deps, caller, sessionId);
  return await deps.records.turns.list(sessionId, { ...page, limit: pageLimit(limit) });
}
