/** Authentication in the words of ACP: the key of the provider that answers new sessions (P1). */
import type { AuthMethod, ClientCapabilities } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../domain/errors.ts";
import type { AcpKeys, AcpPorts, MissingKey, OpenedPorts } from "./ports.ts";
import { keyRequired } from "./refusal.ts";

const keyMethod = "provider-key";

/** Returns the methods. One that needs a terminal is listed only if the client offers terminals for it. */
export function authMethods(keys: AcpKeys | null, { auth }: ClientCapabilities): AuthMethod[] {
  const name = "Key of the provider";
  if (keys === null) return [{ id: keyMethod, name, description: "The operator of the server sets it there." }];
  const description =
    "Run `aptove login` in a terminal, or set the variable of the provider, for example OPENAI_API_KEY, for the agent.";
  const methods: AuthMethod[] = [{ id: keyMethod, name, description }];
  if (auth?.terminal !== true) return methods;
  const terminal = {
    id: "login",
    name: "Enter the key of a provider",
    description: "The key is stored in config.toml.",
  };
  return [...methods, { type: "terminal", ...terminal, args: [...keys.loginArgs] }];
}

export class ProviderKeys {
  readonly #ports: AcpPorts;
  readonly #isInUse: () => boolean;
  #isLoggedOut = false;

  /** `isInUse`: returns true if sessions are open, which use the opened ports. */
  constructor(ports: AcpPorts, isInUse: () => boolean) {
    this.#ports = ports;
    this.#isInUse = isInUse;
  }

  /** Returns the workspace of a new session. Refuses it if the workspace's provider has no key. */
  async ofNewSession(deviceId: string | null): Promise<{ opened: OpenedPorts; workspaceId: string }> {
    if (this.#isLoggedOut) throw keyRequired("logged out; authenticate first", {});
    const found = await this.#found(deviceId);
    if (found.missing === null) return found;
    // The user may have set the key since it was read.
    await this.#reopen();
    const again = await this.#found(deviceId);
    if (again.missing === null) return again;
    throw refused(again.missing);
  }

  /** Checks the keys again. Throws like a new session. */
  async authenticate(methodId: string): Promise<void> {
    if (methodId !== keyMethod) {
      throw new AptoveError("request_invalid", `there is no method ${JSON.stringify(methodId)} for authenticate`);
    }
    await this.#reopen();
    const { missing } = await this.#found(this.#ports.deviceId);
    if (missing !== null) throw refused(missing);
    this.#isLoggedOut = false;
  }

  logout(): void {
    this.#ports.keys?.forget();
    this.#isLoggedOut = true;
  }

  async #found(deviceId: string | null) {
    const opened = await this.#ports.open();
    const { workspaces } = opened;
    const workspaceId = deviceId === null ? await workspaces.standard() : await workspaces.ofDevice(deviceId);
    return { opened, workspaceId, missing: await workspaces.missingKey(workspaceId) };
  }

  /** Open sessions keep the keys that they have. */
  async #reopen(): Promise<void> {
    if (!this.#isInUse()) await this.#ports.keys?.reopen();
  }
}

function refused({ provider, variable }: MissingKey): Error {
  const fix = `set ${variable} for the agent, or run: aptove login ${provider}`;
  return keyRequired(`the provider ${provider} has no key; ${fix}`, { provider, variable });
}
