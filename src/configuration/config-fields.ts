/** All keys of the configuration file: form, meaning and variable. The loader, the starter file, `config show` and a test of the page use it (W7). */
import { limits } from "../domain/limits.ts";
import {
  apiAddressField,
  choiceField,
  collectionNameField,
  booleanField,
  modelWindowsField,
  namedField,
  nameField,
  numberField,
  emptyableTextField,
  providerNameField,
  secretKeyField,
  sharedTableField,
  tableField,
  text,
  textListField,
  toolListField,
  urlField,
  type ConfigField,
  type NamedField,
  type TableField,
  type ValueField,
} from "./config-forms.ts";
import { indexStores } from "./configured-index.ts";
import { mcpServerFields } from "./mcp-servers.ts";
import { oidcFields } from "./oidc-settings.ts";

/** The limits that a person may change, each with its smallest value. The other limits are part of a rule: see domain/limits.ts. */
export const changeableLimits = {
  requestBodyBytesMax: 1_024,
  importBytesMax: 1_024,
  concurrentRunsPerUserMax: 1,
  requestsPerMinuteMax: 1,
  retrievalChunksMax: 1,
  retrievalTokensMax: 100,
  providerAttemptsMax: 1,
  shutdownGraceMs: 0,
  heartbeatMs: 100,
  auditRetentionDays: 1,
} as const satisfies Partial<Record<keyof typeof limits, number>>;
export type ChangeableLimit = keyof typeof changeableLimits;

/** Returns a name as the configuration file writes it: `requestBodyBytesMax` becomes `request_body_bytes_max`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const limitAbouts: Record<ChangeableLimit, string> = {
  requestBodyBytesMax: "Maximum size of a request body, in bytes.",
  importBytesMax: "Maximum size of a file that the server imports over HTTP, in bytes.",
  concurrentRunsPerUserMax: "Maximum number of turns that run at the same time for one user.",
  requestsPerMinuteMax: "Maximum number of requests per minute from one user.",
  retrievalChunksMax: "Maximum number of code chunks that a turn gives the model.",
  retrievalTokensMax: "Maximum number of tokens of these chunks together.",
  providerAttemptsMax:
    "Maximum number of attempts for one model call if the provider is overloaded, including the first.",
  shutdownGraceMs: "Time that running turns have to finish after a stop signal, in milliseconds.",
  heartbeatMs: "Idle time after which an event stream sends a heartbeat, in milliseconds.",
  auditRetentionDays: "Number of days that entries of the audit log are kept.",
};

function limitFields(): Record<string, ConfigField> {
  const names = Object.keys(changeableLimits) as ChangeableLimit[];
  const fields = names.map((name): [string, ConfigField] => {
    const range = { sample: limits[name], min: changeableLimits[name], max: 2_147_483_647 };
    return [snakeCase(name), numberField(limitAbouts[name], range)];
  });
  return Object.fromEntries(fields);
}

const modesAbout = "A mode of this conversation context. `ask` and `edit` always exist; you can change them here.";
// The sample is not a built-in mode, because a new mode shows better what a mode is.
const modes = namedField(modesAbout, "review", {
  instructions: emptyableTextField("What the mode asks the model to do; part of the boot prompt.", "Name risks first."),
  tools: textListField("Names of the tools that the model may call in this mode. If absent: all tools.", ["run_tests"]),
  force_tool: text("Name of the tool that the model must call.", "run_tests"),
});

const conversationContext = namedField(
  "A conversation context: prompt, model and tools. `default` always exists.",
  "default",
  {
    name: text("Name that lists show.", "Default"),
    boot_prompt: text("The system message at the start of a session.", "You are a careful assistant."),
    model: text("Model to call. If absent: the provider's model.", "gpt-6.2-sol", { env: "APTOVE_MODEL" }),
    history: choiceField("Use the provider's memory (chain), or send the whole history every time (replay).", [
      "chain",
      "replay",
    ]),
    retrieval: choiceField(
      "What happens if retrieval fails: the turn fails (required) or continues with a warning (optional). `off` turns retrieval off.",
      ["required", "optional", "off"],
    ),
    tool_resend: choiceField("Send the tools with every model call, or only when they have changed.", [
      "always",
      "when-changed",
    ]),
    tools: toolListField("Tools that the model has in every turn."),
    subagents: booleanField("True if the model may start subagents, which work beside the conversation.", false),
    settings: tableField("Settings of the model.", {
      temperature: numberField("Randomness of the answers.", { sample: 0.2, min: 0, max: 2, isReal: true }),
      max_output_tokens: numberField("Maximum length of an answer, in tokens.", {
        sample: 8_000,
        min: 1,
        max: 10_000_000,
      }),
      reasoning_effort: choiceField("Reasoning effort of a reasoning model.", ["minimal", "low", "medium", "high"]),
    }),
    modes,
  },
);

const providerModel = "Model to call if nothing else names one.";
const keyVariable = "Environment variable that holds the key.";

const providerTables = tableField("", {
  openai: tableField("OpenAI, or a server with the same Responses API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "OPENAI_API_KEY"),
    base_url: apiAddressField("Address of the API.", "https://api.openai.com/v1", { env: "OPENAI_BASE_URL" }),
    model: text(providerModel, "gpt-6.2-sol"),
    context_tokens: modelWindowsField("gpt-6-mini"),
    organization: text("Organisation to bill.", "org-..."),
  }),
  anthropic: tableField("Anthropic, or a server with the same Messages API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "ANTHROPIC_API_KEY"),
    base_url: apiAddressField("Address of the API.", "https://api.anthropic.com", { env: "ANTHROPIC_BASE_URL" }),
    model: text(providerModel, "claude-sonnet-5"),
    context_tokens: modelWindowsField("claude-haiku-6"),
    max_output_tokens: numberField(
      "Maximum length of an answer in tokens, if no other setting limits it. This API requires a limit.",
      {
        sample: 32_000,
        min: 1,
        max: 10_000_000,
      },
    ),
  }),
  google: tableField("Google's Gemini API.", {
    api_key: secretKeyField(),
    api_key_env: text(keyVariable, "GEMINI_API_KEY"),
    base_url: apiAddressField(
      "Address of the API, including its version.",
      "https://generativelanguage.googleapis.com/v1beta",
    ),
    model: text(providerModel, "gemini-3.8-flash"),
    context_tokens: modelWindowsField("gemini-4-pro"),
  }),
  compatible: namedField(
    "A server with OpenAI's chat completions API. Its name here is its name as a provider.",
    "ollama",
    {
      base_url: apiAddressField("Address of the API, including its version.", "http://127.0.0.1:11434/v1"),
      model: text(providerModel, "qwen3-coder"),
      context_tokens: modelWindowsField("qwen3-coder"),
      api_key: secretKeyField(),
      api_key_env: text(keyVariable, "OLLAMA_API_KEY"),
    },
  ),
  offline: tableField("The built-in model, which needs no network.", {
    delay_ms: numberField("Pause between two words of the answer, in milliseconds.", {
      sample: 0,
      min: 0,
      max: 60_000,
      env: "APTOVE_OFFLINE_DELAY_MS",
    }),
  }),
});

function orgRuns(): ConfigField {
  const about = "Maximum number of turns that run at the same time for one org, across all servers.";
  return numberField(about, { sample: 200, min: 1, max: 1_000_000 });
}

function orgRequests(): ConfigField {
  return numberField("Maximum number of requests per minute from one org, across all servers.", {
    sample: 12_000,
    min: 1,
    max: 100_000_000,
  });
}

/** All keys of the file, in the order of the starter file. */
export const configFields: TableField = tableField("", {
  provider: providerNameField("Default provider. Without a key: the built-in offline model.", {
    env: "APTOVE_PROVIDER",
  }),
  agent_context: nameField("name of an agent context", "Agent context of sessions that do not name one.", {
    sample: "default",
  }),
  conversation_context: nameField(
    "name of a conversation context",
    "Conversation context of sessions that do not name one.",
    {
      sample: "default",
    },
  ),
  providers: providerTables,
  retrieval: sharedTableField("Retrieval: how aptove finds code.", {
    embedding: choiceField("Source of the embedding vectors. `lexical` works offline.", ["lexical", "openai"]),
    model: text("Embedding model.", "text-embedding-3-small"),
    dimension: numberField("Length of the vectors.", { sample: 1_536, min: 8, max: 16_384 }),
    store: choiceField("Where indexes are stored: in the data folder, or on a Qdrant server.", indexStores, {
      env: "APTOVE_RETRIEVAL_STORE",
    }),
    qdrant: tableField("A Qdrant server, 1.19 or later.", {
      url: apiAddressField("Address of the server. The default port is 6333.", "http://127.0.0.1:6333", {
        env: "QDRANT_URL",
      }),
      collection: collectionNameField("Prefix of the names of its collections.", "aptove"),
      api_key_env: text("Environment variable that holds the key.", "QDRANT_API_KEY"),
    }),
  }),
  agent_contexts: namedField("An agent context: provider and index. `default` always exists.", "default", {
    name: text("Name that lists show.", "Default"),
    provider: providerNameField("Provider. If absent: the one at the top of this file."),
    index: choiceField("Index to search for code. If absent: `retrieval.store`.", indexStores),
  }),
  conversation_contexts: conversationContext,
  mcp_servers: mcpServerFields,
  serve: sharedTableField("The server.", {
    host: text("Address to listen on.", "127.0.0.1", { env: "APTOVE_HOST" }),
    port: numberField("Port to listen on; 0 takes a free port.", {
      sample: 4270,
      min: 0,
      max: 65_535,
      env: "APTOVE_PORT",
    }),
    allowed_hosts: textListField("Additional values of the Host header that the server accepts.", [
      "aptove.example.org",
    ]),
    allowed_origins: textListField("Web origins that may call the server from a browser.", [
      "https://tools.example.org",
    ]),
  }),
  oidc: oidcFields,
  records: sharedTableField("Store of the session records. If absent: SQLite in the data folder.", {
    url: urlField("Address of a PostgreSQL database.", "postgres://user:password@host:5432/aptove", {
      schemes: ["postgres:", "postgresql:"],
      env: "APTOVE_RECORDS_URL",
      isSecret: true,
    }),
    pool_max: numberField("Maximum number of connections from this server to PostgreSQL.", {
      sample: 10,
      min: 2,
      max: 1_000,
    }),
    connect_ms: numberField("Timeout for opening a connection, in milliseconds.", {
      sample: limits.recordsConnectMs,
      min: 100,
      max: 600_000,
    }),
    statement_ms: numberField("Timeout of a statement, in milliseconds.", {
      sample: limits.recordsStatementMs,
      min: 100,
      max: 600_000,
    }),
    lock_ms: numberField("Timeout of a statement that waits for a lock, in milliseconds.", {
      sample: limits.recordsLockMs,
      min: 100,
      max: 600_000,
    }),
    idle_in_transaction_ms: numberField(
      "Time after which PostgreSQL ends the transaction of a server that stopped responding, in milliseconds.",
      { sample: limits.recordsIdleInTransactionMs, min: 100, max: 600_000 },
    ),
    keep_alive_ms: numberField(
      "Idle time after which the system checks that the database is reachable, in milliseconds.",
      {
        sample: limits.recordsKeepAliveMs,
        min: 1_000,
        max: 600_000,
      },
    ),
    application_name: text("Name that PostgreSQL shows for the connections.", "aptove"),
  }),
  blobs: sharedTableField("Store of the contents of conversations. If absent: files in the data folder.", {
    url: urlField("An S3 bucket, with an optional prefix.", "s3://bucket/aptove", {
      schemes: ["s3:"],
      env: "APTOVE_BLOBS_URL",
    }),
    endpoint: apiAddressField("Address of the S3 server. If absent: Amazon's.", "https://s3.example.org", {
      env: "APTOVE_BLOBS_ENDPOINT",
    }),
    region: text(
      "Region of the bucket. If absent: AWS_REGION, or us-east-1 for a server that is not Amazon's.",
      "eu-central-1",
      {
        env: "APTOVE_BLOBS_REGION",
      },
    ),
    path_style: booleanField(
      "True if the bucket is part of the path. If absent: true for a server that is not Amazon's.",
      true,
    ),
  }),
  live: sharedTableField("Store of the events of running turns. If absent: the store of the records.", {
    redis: urlField("Address of a Redis server, 7 or later.", "redis://user:password@host:6379/0", {
      schemes: ["redis:", "rediss:"],
      env: "APTOVE_REDIS_URL",
      isSecret: true,
    }),
  }),
  log: sharedTableField("The log, which goes to standard error.", {
    format: choiceField("Format of a log entry: a line of text, or a JSON object.", ["text", "json"], {
      env: "APTOVE_LOG_FORMAT",
    }),
    level: choiceField(
      "Which entries are logged. error: errors; warn: also warnings; info: also requests and turns; debug: also model and tool calls.",
      ["warn", "error", "info", "debug"],
      { env: "APTOVE_LOG_LEVEL" },
    ),
  }),
  metrics: sharedTableField("Prometheus metrics, at an address of their own.", {
    host: text("Address to listen on. It requires no key.", "127.0.0.1", { env: "APTOVE_METRICS_HOST" }),
    port: numberField("Port to listen on; 0 takes a free port. If absent: no metrics.", {
      sample: 9464,
      min: 0,
      max: 65_535,
      env: "APTOVE_METRICS_PORT",
    }),
  }),
  traces: sharedTableField("OpenTelemetry traces.", {
    exporter: choiceField(
      "Where spans are sent: nowhere, or over OTLP to the address in OTEL_EXPORTER_OTLP_ENDPOINT.",
      ["none", "otlp"],
      {
        env: "APTOVE_TRACES",
      },
    ),
    ratio: numberField("Share of the traces to keep, among those that start in this server.", {
      sample: 1,
      min: 0,
      max: 1,
      isReal: true,
    }),
  }),
  input: sharedTableField("Input parts of an instruction.", {
    allowed_url_hosts: textListField(
      "Private hosts that may be read although they are not on the public internet, with or without a port.",
      ["wiki.example.org"],
    ),
  }),
  limits: sharedTableField("Limits. The built-in values suit most uses.", {
    ...limitFields(),
    concurrent_runs_per_org_max: orgRuns(),
    requests_per_minute_per_org_max: orgRequests(),
    orgs: namedField(
      "Limits of one org, in place of those for every org. `aptove key list --json` shows the org's id.",
      "acme",
      {
        concurrent_runs_max: orgRuns(),
        requests_per_minute_max: orgRequests(),
      },
    ),
  }),
});

/** A key that the configuration file may have. */
export interface KnownKey {
  /** The path that documentation uses: a name that a person chooses is written as `<id>`. */
  path: string;
  /** The same path with the names of the starter file. */
  sample: string;
  field: ValueField;
  /** True if only the file of the data folder may have the key, and no workspace's own file (W7). */
  isShared: boolean;
}

export function knownKeys(): KnownKey[] {
  const found: KnownKey[] = [];
  const walk = (field: ConfigField, at: Omit<KnownKey, "field">): void => {
    const { path, sample, isShared } = at;
    if (field.kind === "value") {
      found.push({ ...at, field });
    } else if (field.kind === "named") {
      for (const [name, part] of partsOf(field))
        walk(part, { path: `${path}.<id>`, sample: `${sample}.${name}`, isShared });
    } else {
      const before = path === "" ? "" : ".";
      for (const [key, child] of Object.entries(field.keys)) {
        const below = { path: `${path}${before}${key}`, sample: `${sample}${before}${key}` };
        walk(child, { ...below, isShared: isShared || field.isShared === true });
      }
    }
  };
  walk(configFields, { path: "", sample: "", isShared: false });
  return found;
}

/** Returns a named field as the starter file writes it: each sample name with the keys below it. */
export function partsOf({ sampleName, apart, each }: NamedField): [string, TableField | ValueField][] {
  if (apart === undefined || each.kind === "value") return [[sampleName, each]];
  const keysWhere = (isApart: boolean): TableField["keys"] =>
    Object.fromEntries(Object.entries(each.keys).filter(([key]) => apart.keys.includes(key) === isApart));
  return [
    [sampleName, { ...each, keys: keysWhere(false) }],
    [apart.sampleName, { ...each, about: "", keys: keysWhere(true) }],
  ];
}
