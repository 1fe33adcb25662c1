/** The provider and the model of a turn that calls none: what it stores took place elsewhere. */
import type { Provider } from "../../../providers/provider.ts";
import { noProvider } from "./chain.ts";

const provider: Provider = {
  name: noProvider,
  account: "",
  defaultModel: "",
  remembers: false,
  prepare: () => ({ model: "", body: "", dropped: [] }),
  send: async function* () {},
};

export const noModel = { provider, model: "" };
