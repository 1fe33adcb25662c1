/** The client's methods for turns. */
import type { ExecuteAnswer } from "../protocol/execute.ts";
import type {
  QuestionAnswer,
  QuestionAsking,
  QuestionWithdrawal,
  WireQuestionAnswer,
  WireQuestions,
} from "../protocol/question.ts";
import type { WireTurnDiff } from "../protocol/explain.ts";
import type { WireTurn, WireTurnContext, WireTurnSummary } from "../protocol/turn.ts";
import type { FetchJson, SendRequest } from "./send.ts";

export interface TurnMethods {
  get(id: string): Promise<WireTurn>;
  summary(id: string): Promise<WireTurnSummary>;
  instruction(id: string): Promise<string>;
  answer(id: string): Promise<ExecuteAnswer>;
  context(id: string): Promise<WireTurnContext>;
  /** Returns the exact bytes of the request to the model. Steps count from 1. */
  request(id: string, step: number): Promise<Uint8Array>;
  /** Returns the exact bytes of the model's response. Steps count from 1. */
  response(id: string, step: number): Promise<Uint8Array>;
  /** Returns the bytes of another tool's history that an imported turn was made from. Throws `not_found` for any other turn. */
  source(id: string): Promise<Uint8Array>;
  /** Returns the whole output of a tool call whose result is in the turn. The model may have received only a part. */
  output(id: string, callId: string): Promise<string>;
  /** Returns what differs in the input of two turns, and both answers. */
  diff(a: string, b: string): Promise<WireTurnDiff>;
  /** Archives a finished turn that nothing continues. Throws `turn_in_use`, `turn_not_finished`. */
  archive(id: string): Promise<WireTurnSummary>;
  /** Stops the turn. Returns its id, or null if it was not running. */
  interrupt(id: string): Promise<string | null>;
  /** Sends a message to the running turn, which receives it at its next step. Returns the turn's id. Throws `turn_not_running`. */
  steer(id: string, text: string): Promise<string>;
  /** Returns the questions of the turn that wait for a person. */
  questions(id: string): Promise<WireQuestions["questions"]>;
  /** Answers a question. The first answer counts. Throws `question_not_open`. */
  answerQuestion(id: string, answer: QuestionAnswer): Promise<void>;
  /**
   * Asks about a call that the turn left to this client's tools. Returns the answer that another client gave, or null. Call it again
   * within a minute, or the question ends. Throws `question_not_open`.
   */
  askQuestion(id: string, asking: QuestionAsking): Promise<WireQuestionAnswer>;
  /** Ends a question that this client has asked. */
  withdrawQuestion(id: string, question: QuestionWithdrawal): Promise<void>;
}

export function turnMethods(send: SendRequest, call: FetchJson): TurnMethods {
  const accept = "application/octet-stream";
  const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());
  const bytes = async (name: "getRequest" | "getResponse", id: string, step: number) => {
    return await bytesOf(await send(name, { id, query: { step }, accept }));
  };
  return {
    get: (id) => call("getTurn", { id }),
    summary: (id) => call("getTurnSummary", { id }),
    instruction: async (id) => (await send("getInstruction", { id, accept: "text/plain" })).text(),
    answer: (id) => call("getAnswer", { id }),
    context: (id) => call("getContext", { id }),
    request: (id, step) => bytes("getRequest", id, step),
    response: (id, step) => bytes("getResponse", id, step),
    output: async (id, callId) =>
      (await send("getOutput", { id, query: { call: callId }, accept: "text/plain" })).text(),
    source: async (id) => await bytesOf(await send("getSource", { id, accept })),
    diff: (a, b) => call("diffTurns", { id: a, query: { with: b } }),
    archive: (id) => call("archiveTurn", { id }),
    interrupt: async (id) => (await call("interruptTurn", { id })).interruptedTurnId,
    steer: async (id, text) => (await call("steerTurn", { id, body: { text } })).steeredTurnId,
    questions: async (id) => (await call("listQuestions", { id })).questions,
    answerQuestion: async (id, answer) => void (await call("answerQuestion", { id, body: answer })),
    askQuestion: async (id, asking) => (await call("askQuestion", { id, body: asking })).answer,
    withdrawQuestion: async (id, query) => void (await send("withdrawQuestion", { id, query })),
  };
}
