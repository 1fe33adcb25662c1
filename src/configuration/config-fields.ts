/** All keys of the configuration file: form, meaning and variable. The loader, the starter file, `config show` and a test of the page use it (W7). */
import { reasoningEfforts, reasoningSummaries } from "../domain/context.ts";
import { limits } from "../domain/limits.ts";
import {
  apiAddressField,
  choiceField,
  type ConfigField,
  collectionNameField,
  booleanField,
  namedField,
  nameField,
  numberField,
  emptyableTextField,
  providerNameField,
  sharedTableField,
  tableField,
  text,
  textListField,
  toolListField,
  urlField,
  type NamedField,
  type TableField,
} from "./config-forms.ts";
import { indexStores } from "./configured-index.ts";
import { limitTable } from "./limit-fields.ts";
import { mcpServerFields } from "./mcp-servers.ts";
import { oidcFields } from "./oidc-settings.ts";
import { providerTables } from "./provider-fields.ts";

const modesAbout = "A mode of this conversation context. `ask` and `edit` always exist; you can change them here.";
// The sample is not a built-in mode, because a new mode shows better what a mode is.
const namedModes = namedField(modesAbout, "review", {
  instructions: emptyableTextField("What the mode asks the model to do; part of the boot prompt.", "Name risks first."),
  tools: textListField("Names of the tools that the model may call in this mode. If absent: all tools.", ["run_tests"]),
  force_tool: text("Name of the tool that the model must call.", "run_tests"),
});
const modes: NamedField = { ...namedModes, word: { text: "open", key: "open_modes" } };

function storeFalse(): ConfigField {
  return choiceField(
    "Responses with `store: false`: `forget` their content when they end, `keep` it as that of any other, or `refuse` them.",
    ["forget", "keep", "refuse"],
  );
}

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
    rules: booleanField("False if the model does not get the repository's rules (AGENTS.md).", true),
    place: booleanField("False if the model does not learn the folder, the branch and the modified files.", true),
    memory: booleanField("False if the model neither gets the memory of the workspace nor adds to it.", true),
    skills: booleanField(
      "False if no skills (SKILL.md) of the repository and the workspace are offered to the model.",
      true,
    ),
    settings: tableField("Settings of the model.", {
      temperature: numberField("Randomness of the answers.", { sample: 0.2, min: 0, max: 2, isReal: true }),
      max_output_tokens: numberField("Maximum length of an answer, in tokens.", {
        sample: 8_000,
        min: 1,
        max: limits.outputTokensSettingMax,
      }),
      reasoning_effort: choiceField(
        "Reasoning effort of a reasoning model; `none`: it does not think.",
        reasoningEfforts,
      ),
      reasoning_summary: choiceField("How much of its reasoning the model shows.", reasoningSummaries),
      verbosity: choiceField("Length and detail of the answers.", ["low", "medium", "high"]),
      max_steps: numberField("Maximum number of model calls in one turn, between which tools run.", {
        sample: limits.stepsPerTurnMax,
        min: 1,
        max: limits.stepsPerTurnSettingMax,
      }),
    }),
    open_modes: booleanField(
      "True if a request may name any mode: an unknown one is like `ask`, with a warning.",
      false,
    ),
    modes,
  },
);

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
  scope: tableField("The part of the repository that turns of a workspace search.", {
    paths: textListField("Search for code only below these paths. A request can name others.", ["src/api", "docs"]),
  }),
  summaries: tableField("Summaries of sessions that are made without a request.", {
    when_archived: booleanField("True if a session is summarized in the background when it is archived.", false),
    model: text("Model that writes these summaries. If absent: that of the session.", "gpt-5.6-luna"),
  }),
  retrieval: sharedTableField("Retrieval: how aptove finds code.", {
    embedding: choiceField("Source of the embedding vectors. `lexical` works offline.", ["lexical", "openai"]),
    model: text("Embedding model.", "text-embedding-3-small"),
    dimension: numberField("Length of the vectors.", { sample: 1_536, min: 8, max: 16_384 }),
    ignore: textListField(
      "Paths that are not indexed, in the form of `.gitignore`. A repository can have `.aptoveignore`.",
      ["docs/archive/", "*.snap"],
    ),
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
  blobs: sharedTableField("Store of the contents of conversations.", {
    store: choiceField(
      "Where they are if no bucket is named: in the database of the records, or as files in the data folder. If absent: where they are; in a new folder, in the database.",
      ["database", "files"],
      { env: "APTOVE_BLOBS_STORE" },
    ),
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
  openai_api: sharedTableField("The door for clients of OpenAI's API, at `/v1`.", {
    store_false: storeFalse(),
    orgs: namedField("Settings of one org, in place of those for every org.", "acme", { store_false: storeFalse() }),
  }),
  limits: limitTable,
});
