/** Handlers for turns and their stored content (T4, D3). */
import { toWireTurn, toWireTurnSummary } from "../../../protocol/turn.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { executeAnswerOf } from "./execute-answer.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type TurnRoute =
  | "getTurn"
  | "getTurnSummary"
  | "getInstruction"
  | "getAnswer"
  | "getRequest"
  | "getResponse"
  | "getOutput"
  | "getSource"
  | "getContext"
  | "diffTurns"
  | "archiveTurn"
  | "interruptTurn"
  | "steerTurn"
  | "listQuestions"
  | "answerQuestion"
  | "askQuestion"
  | "withdrawQuestion";

export function turnHandlers({ engine }: HandlerDependencies): RouteHandlers<TurnRoute> {
  return {
    getTurn: async ({ caller, id }) => {
      const reader = await engine.turns.read(caller, id);
      return answer("getTurn", toWireTurn(reader.turn, await reader.steps()));
    },
    getTurnSummary: async ({ caller, id }) =>
      answer("getTurnSummary", toWireTurnSummary(await engine.turns.get(caller, id))),
    getInstruction: async ({ caller, id }) => plainText(await (await engine.turns.read(caller, id)).instruction()),
    getAnswer: async ({ request, caller, id }) => {
      const whole = await executeAnswerOf(await engine.turns.read(caller, id));
      const isText = request.headers.get("accept")?.startsWith("text/plain") === true;
      return isText ? plainText(whole.text) : answer("getAnswer", whole);
    },
    getRequest: async ({ caller, id, query }) => bytes(await (await engine.turns.read(caller, id)).request(query.step)),
    getResponse: async ({ caller, id, query }) =>
      bytes(await (await engine.turns.read(caller, id)).response(query.step)),
    getOutput: async ({ caller, id, query }) =>
      plainText(await (await engine.turns.read(caller, id)).output(query.call)),
    getSource: async ({ caller, id }) => bytes(await (await engine.turns.read(caller, id)).source()),
    getContext: async ({ caller, id }) => {
      const reader = await engine.turns.read(caller, id);
      const { manifest } = reader.turn;
      const [prompt, message] = await Promise.all([reader.prompt(), reader.message()]);
      return answer("getContext", { turnId: id, manifest, prompt, message });
    },
    diffTurns: async ({ caller, id, query }) =>
      answer("diffTurns", await engine.explain.diff(caller, { a: id, b: query.with })),
    archiveTurn: async ({ caller, id }) =>
      answer("archiveTurn", toWireTurnSummary(await engine.tree.archiveTurn(caller, id))),
    interruptTurn: async ({ caller, id }) =>
      answer("interruptTurn", { interruptedTurnId: await engine.turns.interrupt(caller, { turnId: id }) }),
    steerTurn: async ({ caller, id, body }) =>
      answer("steerTurn", { steeredTurnId: await engine.turns.steer(caller, { turnId: id, ...body }) }),
    listQuestions: async ({ caller, id }) =>
      answer("listQuestions", { questions: await engine.turns.questions(caller, id) }),
    answerQuestion: async ({ caller, id, body: { callId, approved, always, reason } }) => {
      const given = approved
        ? { approved, ...withoutNullish({ always }) }
        : { approved, ...withoutNullish({ reason }) };
      await engine.turns.answerQuestion(caller, { turnId: id, callId, ...given });
      return answer("answerQuestion", { answeredCallId: callId });
    },
    askQuestion: async ({ caller, id, body: { view, ...asking } }) => {
      const question = { ...asking, turnId: id, view: { ...view, permission: null } };
      return answer("askQuestion", { answer: await engine.turns.askQuestion(caller, question) });
    },
    withdrawQuestion: async ({ caller, id, query }) => {
      await engine.turns.withdrawQuestion(caller, { ...query, turnId: id });
      return new Response(null, { status: 204 });
    },
  };
}

function plainText(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/plain; charset=utf-8" } });
}

/** Returns the bytes of a provider as an octet stream: a browser must never render them as a page. */
function bytes(content: Uint8Array): Response {
  const headers = { "content-type": "application/octet-stream" };
  return new Response(content as Uint8Array<ArrayBuffer>, { headers });
}
