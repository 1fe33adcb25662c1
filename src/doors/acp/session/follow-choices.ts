/** An open session follows the contexts, the model and the effort that another door sets (S9). */
import type { Session } from "../../../domain/session.ts";
import type { OpenedPorts } from "../ports.ts";
import type { OpenSession } from "./open-session.ts";
import { SessionOptions } from "./session-options.ts";

/** Reads what was chosen for the session, and sends the options if that changed since this connection read it last. */
export async function followChoices({ opened, session }: { opened: OpenedPorts; session: OpenSession }): Promise<void> {
  const { facts } = session;
  const stored = await opened.engine.sessions.get(opened.caller, facts.id);
  const chosen = choiceKey(stored);
  if (chosen === session.choice) return;
  session.choice = chosen;
  const { options: former } = facts;
  const choices = await opened.workspaces.choices(facts.workspaceId);
  const effort = stored.settings.reasoningEffort ?? null;
  const options = SessionOptions.of(stored, choices, { mode: former.mode, model: stored.model, effort });
  facts.options = options;
  const send = (): Promise<void> =>
    session.update({ sessionUpdate: "config_option_update", configOptions: options.list() });
  if (JSON.stringify(options.list()) !== JSON.stringify(former.list())) await send();
  if (options.mode !== former.mode) {
    await session.update({ sessionUpdate: "current_mode_update", currentModeId: options.mode });
  }
  void options.readAllModels?.().then(async (isNew) => {
    if (isNew && facts.options === options) await send();
  });
}

/** Returns a text that differs if anything of the choice does. */
export function choiceKey({ agentContextId, conversationContextId, model, settings }: Session): string {
  return JSON.stringify([agentContextId, conversationContextId, model, settings.reasoningEffort ?? null]);
}
