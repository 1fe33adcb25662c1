/**
 * Every key of the configuration file: its form, what it means, the variable that may set it. The loader,
 * the starter file, `config show` and the test of docs/configuration.md all walk this one table (W7).
 */
import { limits } from "../domain/limits.ts";
import {
  apiAddress,
  choice,
  collectionName,
  flag,
  named,
  nameOf,
  number,
  prose,
  providerName,
  secretKey,
  sharedTable,
  table,
  text,
  texts,
  tools,
  url,
} from "./config-forms.ts";
import type { ConfigField, NamedField, TableField, ValueField } from "./config-forms.ts";
import { indexStores } from "./configured-index.ts";
import { mcpServerFields } from "./mcp-servers.ts";
import { oidcFields } from "./oidc-settings.ts";

/** Limits that a person may change; the others are part of a rule (see domain/limits.ts). Key, unit last, and the smallest value. */
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

/** `requestBodyBytesMax` as the configuration file writes it: `request_body_bytes_max`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const limitAbouts: Record<ChangeableLimit, string> = {
  requestBodyBytesMax: "Largest body of one request to the server, in bytes.",
  importBytesMax: "Largest file that the server imports over HTTP, in bytes.",
  concurrentRunsPerUserMax: "Turns that one person may have running at the same time.",
  requestsPerMinuteMax: "Requests that one person may send in a minute.",
  retrievalChunksMax: "Code snippets that a turn gives the model at most.",
  retrievalTokensMax: "Tokens that these snippets may take together.",
  providerAttemptsMax: "Calls of the model for one step, the first included, when it is overloaded.",
  shutdownGraceMs: "How long running turns may go on after a stop signal, in milliseconds.",
  heartbeatMs: "Pause after which an idle event stream gets a sign of life, in milliseconds.",
  auditRetentionDays: "How long entries of the audit log are kept, in days.",
};

function limitFields(): Record<string, ConfigField> {
  const names = Object.keys(changeableLimits) as ChangeableLimit[];
  const fields = names.map((name): [string, ConfigField] => {
    const range = { sample: limits[name], min: changeableLimits[name], max: 2_147_483_647 };
    return [snakeCase(name), number(limitAbouts[name], range)];
  });
  return Object.fromEntries(fields);
}

const modesAbout = "A mode of this conversation context. `ask` and `edit` always exist; here they can be changed.";
// A mode of its own shows better what a mode is than a built-in one would.
const modes = named(modesAbout, "review", {
  instructions: prose("What the mode asks of the model; stands in the boot prompt.", "Name risks first."),
  tools: texts("Names of the tools that the model may call in this mode; absent: all.", ["run_tests"]),
  force_tool: text("Name of a tool that the model must call.", "run_tests"),
});

const conversationContext = named("How an agent talks. `default` always exists.", "default", {
  name: text("Name that lists show.", "Default"),
  boot_prompt: text("The system message at the start of a session.", "You are a careful assistant."),
  model: text("Model to call; absent: the provider's.", "gpt-6.2-sol", { env: "APTOVE_MODEL" }),
  history: choice("Whether the provider's memory is used (chain) or all is sent each time (replay).", [
    "chain",
    "replay",
  ]),
  retrieval: choice("What happens when retrieval fails: the turn fails, or goes on with a warning.", [
    "required",
    "optional",
    "off",
  ]),
  tool_resend: choice("Send tools with every call, or only when they changed.", ["always", "when-changed"]),
  tools: tools("Tools that are offered in every turn."),
  subagents: flag("Whether the model may begin subagents, which work beside the conversation.", false),
  settings: table("Settings of the model.", {
    temperature: number("Randomness of the answers.", { sample: 0.2, min: 0, max: 2, isReal: true }),
    max_output_tokens: number("Longest answer, in tokens.", { sample: 8_000, min: 1, max: 10_000_000 }),
    reasoning_effort: choice("How much a reasoning model thinks.", ["minimal", "low", "medium", "high"]),
  }),
  modes,
});

const providerModel = "Model that is called where nothing else names one.";
const keyVariable = "Environment variable that holds the key.";

const providerTables = table("", {
  openai: table("OpenAI, or a server that speaks its Responses API.", {
    api_key: secretKey(),
    api_key_env: text(keyVariable, "OPENAI_API_KEY"),
    base_url: apiAddress("Address of the API.", "https://api.openai.com/v1", { env: "OPENAI_BASE_URL" }),
    model: text(providerModel, "gpt-6.2-sol"),
    organization: text("Organisation that is billed.", "org-..."),
  }),
  anthropic: table("Anthropic, or a server that speaks its Messages API.", {
    api_key: secretKey(),
    api_key_env: text(keyVariable, "ANTHROPIC_API_KEY"),
    base_url: apiAddress("Address of the API.", "https://api.anthropic.com", { env: "ANTHROPIC_BASE_URL" }),
    model: text(providerModel, "claude-sonnet-5"),
    max_output_tokens: number("Longest answer, in tokens, where no setting says it: this API demands a limit.", {
      sample: 32_000,
      min: 1,
      max: 10_000_000,
    }),
  }),
  google: table("Google's Gemini API.", {
    api_key: secretKey(),
    api_key_env: text(keyVariable, "GEMINI_API_KEY"),
    base_url: apiAddress("Address of the API, with its version.", "https://generativelanguage.googleapis.com/v1beta"),
    model: text(providerModel, "gemini-3.8-flash"),
  }),
  compatible: named(
    "A server that speaks OpenAI's chat completions; its name here is its name as a provider.",
    "ollama",
    {
      base_url: apiAddress("Address of the API, with its version.", "http://127.0.0.1:11434/v1"),
      model: text(providerModel, "qwen3-coder"),
      api_key: secretKey(),
      api_key_env: text(keyVariable, "OLLAMA_API_KEY"),
    },
  ),
  offline: table("The built-in model that needs no network.", {
    delay_ms: number("Pause between two words of its answer, in milliseconds.", {
      sample: 0,
      min: 0,
      max: 60_000,
      env: "APTOVE_OFFLINE_DELAY_MS",
    }),
  }),
});

function orgRuns(): ConfigField {
  const about = "Turns that the people of an org may have running at the same time, on all servers.";
  return number(about, { sample: 200, min: 1, max: 1_000_000 });
}

function orgRequests(): ConfigField {
  return number("Requests that they may send in a minute, to all servers.", {
    sample: 12_000,
    min: 1,
    max: 100_000_000,
  });
}

/** The whole file. The order is that of the starter file. */
export const configFields: TableField = table("", {
  provider: providerName("Who answers. Without a key: the built-in offline model.", { env: "APTOVE_PROVIDER" }),
  agent_context: nameOf("name of an agent context", "Agent context of sessions that name none.", { sample: "default" }),
  conversation_context: nameOf("name of a conversation context", "Conversation context of sessions that name none.", {
    sample: "default",
  }),
  providers: providerTables,
  retrieval: sharedTable("How code is found.", {
    embedding: choice("Who makes the vectors. `lexical` works offline.", ["lexical", "openai"]),
    model: text("Embedding model.", "text-embedding-3-small"),
    dimension: number("Length of the vectors.", { sample: 1_536, min: 8, max: 16_384 }),
    store: choice("Where indexes are kept: in the data folder, or on a Qdrant server.", indexStores, {
      env: "APTOVE_RETRIEVAL_STORE",
    }),
    qdrant: table("A Qdrant server, 1.19 or later.", {
      url: apiAddress("Its address; without a port: 6333.", "http://127.0.0.1:6333", { env: "QDRANT_URL" }),
      collection: collectionName("What the names of its collections begin with.", "aptove"),
      api_key_env: text("Environment variable that holds the key.", "QDRANT_API_KEY"),
    }),
  }),
  agent_contexts: named("Which provider and index an agent uses. `default` always exists.", "default", {
    name: text("Name that lists show.", "Default"),
    provider: providerName("Provider; absent: the one at the top of this file."),
    index: choice("Where it looks up code; absent: `retrieval.store`.", indexStores),
  }),
  conversation_contexts: conversationContext,
  mcp_servers: mcpServerFields,
  serve: sharedTable("The server.", {
    host: text("Address to listen on.", "127.0.0.1", { env: "APTOVE_HOST" }),
    port: number("Port to listen on; 0 takes a free one.", { sample: 4270, min: 0, max: 65_535, env: "APTOVE_PORT" }),
    allowed_hosts: texts("Further values of the Host header that are answered.", ["aptove.example.org"]),
    allowed_origins: texts("Web origins that may call the server from a browser.", ["https://tools.example.org"]),
  }),
  oidc: oidcFields,
  records: sharedTable("Where sessions are stored. Absent: SQLite in the data folder.", {
    url: url("A PostgreSQL database.", "postgres://user:password@host:5432/aptove", {
      schemes: ["postgres:", "postgresql:"],
      env: "APTOVE_RECORDS_URL",
      isSecret: true,
    }),
    pool_max: number("Connections of this server to PostgreSQL.", { sample: 10, min: 2, max: 1_000 }),
    connect_ms: number("How long a connection is waited for, in milliseconds.", {
      sample: limits.recordsConnectMs,
      min: 100,
      max: 600_000,
    }),
    statement_ms: number("How long a statement may take, in milliseconds.", {
      sample: limits.recordsStatementMs,
      min: 100,
      max: 600_000,
    }),
    lock_ms: number("How long a statement may wait for others, in milliseconds.", {
      sample: limits.recordsLockMs,
      min: 100,
      max: 600_000,
    }),
    idle_in_transaction_ms: number(
      "How long PostgreSQL keeps a transaction of a server that fell silent, in milliseconds.",
      { sample: limits.recordsIdleInTransactionMs, min: 100, max: 600_000 },
    ),
    keep_alive_ms: number("Silence after which the system asks whether the database is there, in milliseconds.", {
      sample: limits.recordsKeepAliveMs,
      min: 1_000,
      max: 600_000,
    }),
    application_name: text("Name that PostgreSQL shows for the connections.", "aptove"),
  }),
  blobs: sharedTable("Where what was said is stored. Absent: files in the data folder.", {
    url: url("A bucket of S3, with a prefix or none.", "s3://bucket/aptove", {
      schemes: ["s3:"],
      env: "APTOVE_BLOBS_URL",
    }),
    endpoint: apiAddress("Address of the server; absent: Amazon's.", "https://s3.example.org", {
      env: "APTOVE_BLOBS_ENDPOINT",
    }),
    region: text(
      "Region of the bucket; absent: that of AWS_REGION, at a server of one's own us-east-1.",
      "eu-central-1",
      {
        env: "APTOVE_BLOBS_REGION",
      },
    ),
    path_style: flag("Whether the bucket stands in the path; absent: at a server of one's own it does.", true),
  }),
  live: sharedTable("Where the events of running turns go first. Absent: where the records are.", {
    redis: url("A Redis server, 7 or later.", "redis://user:password@host:6379/0", {
      schemes: ["redis:", "rediss:"],
      env: "APTOVE_REDIS_URL",
      isSecret: true,
    }),
  }),
  log: sharedTable("What the program tells its operator, on standard error.", {
    format: choice("A line for a person, or a JSON object for a program.", ["text", "json"], {
      env: "APTOVE_LOG_FORMAT",
    }),
    level: choice(
      "What is told: faults, also warnings, also requests and turns, also calls of models and tools.",
      ["warn", "error", "info", "debug"],
      { env: "APTOVE_LOG_LEVEL" },
    ),
  }),
  metrics: sharedTable("Figures for Prometheus, at an address of their own.", {
    host: text("Address to listen on. It asks for no key.", "127.0.0.1", { env: "APTOVE_METRICS_HOST" }),
    port: number("Port to listen on; absent: there are no metrics. 0 takes a free one.", {
      sample: 9464,
      min: 0,
      max: 65_535,
      env: "APTOVE_METRICS_PORT",
    }),
  }),
  traces: sharedTable("OpenTelemetry traces.", {
    exporter: choice(
      "Where spans go: nowhere, or over OTLP to the address in OTEL_EXPORTER_OTLP_ENDPOINT.",
      ["none", "otlp"],
      {
        env: "APTOVE_TRACES",
      },
    ),
    ratio: number("Share of the traces that are kept, of those that nobody began before.", {
      sample: 1,
      min: 0,
      max: 1,
      isReal: true,
    }),
  }),
  input: sharedTable("What comes with an instruction.", {
    allowed_url_hosts: texts(
      "Hosts that may be read although they are not of the public net, with a port or without.",
      ["wiki.example.org"],
    ),
  }),
  limits: sharedTable("Limits; the built-in values are good for most.", {
    ...limitFields(),
    concurrent_runs_per_org_max: orgRuns(),
    requests_per_minute_per_org_max: orgRequests(),
    orgs: named("Of one org, in place of those for every org; its id is in `aptove key list --json`.", "acme", {
      concurrent_runs_max: orgRuns(),
      requests_per_minute_max: orgRequests(),
    }),
  }),
});

/** A key with the path that documentation uses: a name that a person chooses stands as `<id>`. */
export interface KnownKey {
  path: string;
  /** The same key with the names of the starter file. */
  sample: string;
  field: ValueField;
  /** It stands in the file of the data folder, and in no workspace's own (W7). */
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

/** A named field as the starter file writes it: each name with the keys that stand under it. */
export function partsOf({ sampleName, apart, each }: NamedField): [string, TableField | ValueField][] {
  if (apart === undefined || each.kind === "value") return [[sampleName, each]];
  const entries = Object.entries(each.keys);
  const isApart = ([key]: [string, ConfigField]): boolean => apart.keys.includes(key);
  return [
    [sampleName, { ...each, keys: Object.fromEntries(entries.filter((entry) => !isApart(entry))) }],
    [apart.sampleName, { ...each, about: "", keys: Object.fromEntries(entries.filter(isApart)) }],
  ];
}
