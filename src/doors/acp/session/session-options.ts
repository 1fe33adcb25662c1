/** The mode and the model of a session, which the user chooses in the editor, as ACP's modes and config options (P1). */
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import { reasoningEfforts, type ModelSettings } from "../../../domain/context.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { Session } from "../../../domain/session.ts";
import type { SessionChoices } from "../ports.ts";
import { chosenWord, modelChoices, type ChosenModel, type OfferedChoice } from "./model-choices.ts";
import { defaultMode, editorModes, type EditorMode } from "./editor-modes.ts";

type ContextIds = Pick<Session, "agentContextId" | "conversationContextId">;

interface RememberedChoices {
  mode: string | null;
  model: string | ChosenModel | null;
  effort: string | null;
}

/** The choices of one session, and the current ones. */
export class SessionOptions {
  readonly #modes: readonly EditorMode[];
  #models: readonly OfferedChoice[];
  #mode: string;
  #chosen: string | null;
  #effort: Effort | null;

  private constructor(known: { modes: readonly EditorMode[]; models: readonly OfferedChoice[] }, set: CurrentChoices) {
    this.#modes = known.modes;
    this.#models = known.models;
    this.#mode = set.mode;
    this.#chosen = set.chosen;
    this.#effort = set.effort;
  }

  /** Creates the options. A remembered mode is used if it is still available. */
  static of(session: ContextIds, choices: SessionChoices, remembered: RememberedChoices): SessionOptions {
    const conversation = choices.conversationContexts.find(({ id }) => id === session.conversationContextId);
    const modes = editorModes(conversation?.modes ?? []);
    const mode = modes.find(({ id }) => id === remembered.mode)?.id ?? modeByDefault(modes);
    const effort = reasoningEfforts.find((known) => known === remembered.effort) ?? null;
    const chosen = chosenWord(remembered.model, session, choices);
    const listed = (models: SessionChoices["models"]): OfferedChoice[] => modelChoices(session, { ...choices, models });
    const options = new SessionOptions({ modes, models: listed(choices.models) }, { mode, chosen, effort });
    options.windowOf = choices.windowOf;
    const { allModels } = choices;
    if (allModels !== null) options.readAllModels = async () => options.#offer(listed(await allModels()));
    return options;
  }

  /** Returns the context window of a model in tokens, or null if it is unknown. */
  windowOf: SessionChoices["windowOf"] = () => null;

  /** Reads the lists of the providers. Resolves with true if they offer something else. Null: they were read before. */
  readAllModels: (() => Promise<boolean>) | null = null;

  #offer(models: readonly OfferedChoice[]): boolean {
    const isNew = JSON.stringify(models) !== JSON.stringify(this.#models);
    this.#models = models;
    return isNew;
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

  /** The name of the model that the user chose. Null: none, so the session's contexts decide. */
  get chosenModel(): string | null {
    return this.#chosen;
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
    const chosen = this.#models.find((model) => model.value === value || model.alias === value);
    if (chosen === undefined)
      throw unknown(
        "model",
        value,
        this.#models.map((model) => model.value),
      );
    this.#chosen = chosen.value;
  }

  #setEffort(value: string): void {
    const effort = reasoningEfforts.find((known) => known === value) ?? null;
    if (effort === null && value !== effortByDefault)
      throw unknown("effort", value, [effortByDefault, ...reasoningEfforts]);
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
    // A model that was chosen before stays chosen, also if no list names it now.
    const isListed = this.#chosen === null || this.#models.some(({ value }) => value === this.#chosen);
    const own = isListed || this.#chosen === null ? [] : [{ value: this.#chosen, name: this.#chosen }];
    const models = [...this.#models.map(({ alias: _alias, ...shown }) => shown), ...own];
    const current = this.#chosen ?? this.#models[0]?.value;
    return [
      ...(modes.length === 0
        ? []
        : [select({ id: "mode", name: "Mode", category: "mode", currentValue: this.#mode, options: modes })]),
      ...(current === undefined
        ? []
        : [
            select({ id: "model", name: "Model", category: "model", currentValue: current, options: models }),
            effortOption(this.#effort),
          ]),
    ];
  }
}

interface CurrentChoices {
  mode: string;
  chosen: string | null;
  effort: Effort | null;
}

type Effort = NonNullable<ModelSettings["reasoningEffort"]>;

const effortByDefault = "default";

function effortOption(current: Effort | null): SessionConfigOption {
  const options = [effortByDefault, ...reasoningEfforts].map((value) => {
    return { value, name: value.charAt(0).toUpperCase() + value.slice(1) };
  });
  const name = "Effort";
  return select({ id: "effort", name, category: "thought_level", currentValue: current ?? effortByDefault, options });
}

type SelectOption = Extract<SessionConfigOption, { type: "select" }>;

function select(option: Omit<SelectOption, "type">): SessionConfigOption {
  return { type: "select", ...option };
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
