/** The mode and the model of a session, which the user chooses in the editor, as ACP's modes and config options (P1). */
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import type { ConversationContext, ModelSettings } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/session.ts";
import type { SessionChoices } from "../ports.ts";
import { defaultMode, editorModes, type EditorMode } from "./editor-modes.ts";

/** A model, and the agent context whose provider offers it. */
export interface ChosenModel {
  agentContextId: string;
  model: string;
}

interface ModelChoice extends ChosenModel {
  /** The value that the client sends to choose it: the model's name, with the agent context before it if that is not the session's own. */
  value: string;
  name: string;
}

/** The choices of one session, and the current ones. */
export class SessionOptions {
  readonly #modes: readonly EditorMode[];
  readonly #models: readonly ModelChoice[];
  #mode: string;
  #model: ModelChoice | null;
  #isModelChosen: boolean;
  #effort: Effort | null;

  private constructor(known: { modes: readonly EditorMode[]; models: readonly ModelChoice[] }, set: CurrentChoices) {
    this.#modes = known.modes;
    this.#models = known.models;
    this.#mode = set.mode;
    this.#model = set.model;
    this.#isModelChosen = set.isModelChosen;
    this.#effort = set.effort;
  }

  /** Creates the options. A remembered choice is used if it is still available. */
  static async of(
    session: Pick<Session, "agentContextId" | "conversationContextId">,
    choices: SessionChoices,
    remembered: { mode: string | null; model: ChosenModel | null; effort: string | null },
  ): Promise<SessionOptions> {
    const conversation = conversationOf(session, choices);
    const modes = editorModes(conversation?.modes ?? []);
    const models = await modelChoices(session, choices, conversation?.model ?? null);
    const chosen = models.find(({ agentContextId, model }) => {
      return agentContextId === remembered.model?.agentContextId && model === remembered.model.model;
    });
    const mode = modes.find(({ id }) => id === remembered.mode)?.id ?? modeByDefault(modes);
    return new SessionOptions(
      { modes, models },
      {
        mode,
        model: chosen ?? models[0] ?? null,
        isModelChosen: chosen !== undefined,
        effort: efforts.find((effort) => effort === remembered.effort) ?? null,
      },
    );
  }

  get mode(): string {
    return this.#mode;
  }

  /** The mode, with what it means for the turns. */
  get modeChosen(): EditorMode {
    return (
      this.#modes.find(({ id }) => id === this.#mode) ?? { id: this.#mode, name: this.#mode, turnMode: this.#mode }
    );
  }

  /** How long the model thinks. Null: the session's contexts decide. */
  get effort(): Effort | null {
    return this.#effort;
  }

  /** The model that the user chose. Null: none, so the session's contexts decide. */
  get chosenModel(): ChosenModel | null {
    if (!this.#isModelChosen || this.#model === null) return null;
    const { agentContextId, model } = this.#model;
    return { agentContextId, model };
  }

  /** Sets the mode. Throws `mode_unknown`. */
  setMode(id: string): void {
    if (!this.#modes.some((mode) => mode.id === id))
      throw unknown(
        "mode",
        id,
        this.#modes.map((mode) => mode.id),
      );
    this.#mode = id;
  }

  /** Sets an option. Throws `mode_unknown` or `request_invalid`. */
  setOption(configId: string, value: unknown): void {
    if (typeof value !== "string")
      throw new AptoveError("request_invalid", `the value of the option "${configId}" must be a text`);
    if (configId === "mode") return this.setMode(value);
    if (configId === "effort") return this.#setEffort(value);
    if (configId !== "model")
      throw unknown(
        "option",
        configId,
        this.list().map((option) => option.id),
      );
    const chosen = this.#models.find((model) => model.value === value);
    if (chosen === undefined)
      throw unknown(
        "model",
        value,
        this.#models.map((model) => model.value),
      );
    this.#model = chosen;
    this.#isModelChosen = true;
  }

  #setEffort(value: string): void {
    const effort = efforts.find((known) => known === value) ?? null;
    if (effort === null && value !== effortByDefault) throw unknown("effort", value, [effortByDefault, ...efforts]);
    this.#effort = effort;
  }

  /** Returns the modes in ACP's older form. Null: the session's context no longer exists. */
  modes(): SessionModeState | null {
    if (this.#modes.length === 0) return null;
    return { currentModeId: this.#mode, availableModes: this.#modes.map(shownMode) };
  }

  /** Returns all options, as ACP requires for every answer. */
  list(): SessionConfigOption[] {
    const modes = this.#modes.map(shownMode).map(({ id, ...shown }) => ({ value: id, ...shown }));
    const models = this.#models.map(({ value, name }) => ({ value, name }));
    return [
      ...(modes.length === 0
        ? []
        : [select({ id: "mode", name: "Mode", category: "mode", currentValue: this.#mode, options: modes })]),
      ...(this.#model === null
        ? []
        : [
            select({ id: "model", name: "Model", category: "model", currentValue: this.#model.value, options: models }),
            effortOption(this.#effort),
          ]),
    ];
  }
}

interface CurrentChoices {
  mode: string;
  model: ModelChoice | null;
  isModelChosen: boolean;
  effort: Effort | null;
}

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;

const efforts: readonly Effort[] = ["minimal", "low", "medium", "high"];
const effortByDefault = "default";

function effortOption(current: Effort | null): SessionConfigOption {
  const options = [effortByDefault, ...efforts].map((value) => {
    return { value, name: value.charAt(0).toUpperCase() + value.slice(1) };
  });
  const name = "Effort";
  return select({ id: "effort", name, category: "thought_level", currentValue: current ?? effortByDefault, options });
}

type SelectOption = Extract<SessionConfigOption, { type: "select" }>;

function select(option: Omit<SelectOption, "type">): SessionConfigOption {
  return { type: "select", ...option };
}

function conversationOf(
  { conversationContextId }: Pick<Session, "conversationContextId">,
  { conversationContexts }: SessionChoices,
): ConversationContext | undefined {
  return conversationContexts.find(({ id }) => id === conversationContextId);
}

/** Returns the models, those of the session's own agent context first. The very first is the one that is used if the user chooses none. */
async function modelChoices(
  { agentContextId }: Pick<Session, "agentContextId">,
  { agentContexts, models }: SessionChoices,
  preferred: string | null,
): Promise<ModelChoice[]> {
  const own = agentContexts.filter(({ id }) => id === agentContextId);
  const others = agentContexts.filter(({ id }) => id !== agentContextId);
  const listed = await Promise.all(
    [...own, ...others].map(async ({ id, name, provider }) => {
      const known = await models(provider);
      const isOwn = id === agentContextId;
      const names = isOwn && preferred !== null ? [preferred, ...known] : known;
      return [...new Set(names)].map((model) => ({
        agentContextId: id,
        model,
        value: isOwn ? model : `${id}/${model}`,
        name: isOwn ? model : `${model} (${name})`,
      }));
    }),
  );
  return listed.flat();
}

function modeByDefault(modes: readonly EditorMode[]): string {
  return modes.find(({ id }) => id === defaultMode)?.id ?? modes[0]?.id ?? defaultMode;
}

function unknown(kind: "mode" | "model" | "effort" | "option", id: string, known: readonly string[]): AptoveError {
  const detail = `there is no ${kind} ${JSON.stringify(id)}; choose one of ${known.map((one) => `"${one}"`).join(", ")}`;
  return new AptoveError(kind === "mode" ? "mode_unknown" : "request_invalid", detail);
}

function shownMode({ id, name, description }: EditorMode): { id: string; name: string; description?: string } {
  return { id, name, ...(description !== undefined && { description }) };
}
