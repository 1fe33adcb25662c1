/** `/model` of a chat: the model of its session, for this and every other door (S9, G3). */
import type { WireSession } from "../../../client/client.ts";
import type { ChatState } from "./chat-state.ts";
import { modelEntries } from "./model-list.ts";

/** Lists the models, or chooses one for all later turns. `-`: the configured one. */
export async function chooseModel(state: ChatState, rest: string): Promise<void> {
  const { options, call, spent } = state;
  const { output } = call;
  if (rest !== "") return await setModel(state, rest === "-" ? null : rest);
  const [entries, kept] = await Promise.all([modelEntries(state), modelOfSession(state)]);
  const chosen = options.model ?? kept;
  const current = chosen ?? spent.model;
  output.table(entries.map(({ words, about }) => [words === current ? "*" : " ", words, about]));
  output.note(output.safeNote(`${usedWords(chosen)}; /model <name> changes it, also <provider>/<name>`));
}

async function setModel(state: ChatState, model: string | null): Promise<void> {
  const { options, call, sessionId } = state;
  const { output } = call;
  const isKept = sessionId !== null && (await keepInSession(state, sessionId, model));
  if (isKept || model === null) delete options.model;
  else options.model = model;
  state.modelSet = model;
  const isOnlyHere = sessionId !== null && !isKept;
  output.note(
    output.safeNote(`${usedWords(model)}${isOnlyHere ? ", in this chat only: the session is another person's" : ""}`),
  );
}

/** Sets the model of the session. Returns false if only its owner may do that. */
async function keepInSession(state: ChatState, sessionId: string, model: string | null): Promise<boolean> {
  const { client, options } = state;
  // The context of the chat is chosen with the model: a turn that named it later would clear the model (G2).
  const context = options.context === undefined ? {} : { conversationContextId: options.context };
  try {
    await client.sessions.update(sessionId, { ...context, model });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "forbidden") return false;
    throw error;
  }
  delete options.context;
  return true;
}

/** Takes the model of the session over to the session that the chat begins next. */
export async function keepModel(state: ChatState): Promise<void> {
  const model = await modelOfSession(state);
  if (model !== null) state.options.model ??= model;
}

async function modelOfSession({ client, sessionId }: ChatState): Promise<WireSession["model"]> {
  return sessionId === null ? null : (await client.sessions.get(sessionId)).model;
}

function usedWords(model: string | null): string {
  return model === null ? "uses the configured model" : `uses the model ${model}`;
}
