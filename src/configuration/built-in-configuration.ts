/** Has the built-in values, which are the lowest layer, and makes the typed configuration from them and the merged keys. */
import {
  builtInBootPrompt,
  builtInModes,
  type AgentContext,
  type ConversationContext,
  type Mode,
  type ModelSettings,
} from "../domain/context.ts";
import { limits } from "../domain/limits.ts";
import type { ToolDefinition } from "../domain/tool.ts";
import { settleRetrieval, type ConfiguredRetrieval } from "./configured-index.ts";
import { changeableLimits, snakeCase, type ChangeableLimit } from "./limit-fields.ts";
import { providerByDefault, settleProviders, type ConfiguredProviders } from "./configured-providers.ts";
import { settleMcpServers, type McpServerSettings } from "./mcp-servers.ts";
import { settleOidc, type OidcSettings } from "./oidc-settings.ts";
import { MergedValues, type LayerValues } from "./merged-values.ts";

/** The stores, and how they are reached. */
interface StoreConfiguration {
  /** The store of blobs: the data folder if `url` is null, else S3. The S3 driver derives the other values that are null. */
  blobs: BlobsConfiguration;
  /** The store of records: SQLite in the data folder if `url` is null. The other values are for PostgreSQL. */
  records: {
    url: string | null;
    poolMax: number;
    connectMs: number;
    statementMs: number;
    lockMs: number;
    idleInTransactionMs: number;
    keepAliveMs: number;
    applicationName: string;
  };
  /** The store of the live log: Redis, or the store of the records if `redis` is null. */
  live: { redis: string | null };
}

/** What operators see of the program. */
interface ObservationConfiguration {
  log: { format: "text" | "json"; level: "error" | "warn" | "info" | "debug" };
  /** The Prometheus metrics. There are none if `port` is null. */
  metrics: { host: string; port: number | null };
  traces: { exporter: "none" | "otlp"; ratio: number };
}

export interface BlobsConfiguration {
  /** Null: files. */
  store: "database" | "files" | null;
  url: string | null;
  endpoint: string | null;
  region: string | null;
  pathStyle: boolean | null;
}

export interface Configuration extends StoreConfiguration, ObservationConfiguration {
  /** The provider of agent contexts that do not name one. */
  provider: string;
  /** The context that is used if neither the request nor the session names one (G2). The same holds for the next field. */
  agentContext: string;
  conversationContext: string;
  providers: ConfiguredProviders;
  retrieval: ConfiguredRetrieval;
  /** All agent contexts. `default` always exists and is the first (G1). */
  agentContexts: AgentContext[];
  /** All conversation contexts. `default` always exists and is the first (G1). Each has the modes `ask` and `edit` (G2). */
  conversationContexts: ConversationContext[];
  mcpServers: McpServerSettings[];
  serve: { host: string; port: number; allowedHosts: string[]; allowedOrigins: string[] };
  /** OpenID Connect. Without an issuer, API keys are the only way to sign in. */
  oidc: OidcSettings;
  /** The paths below which a workspace searches for code (Q3). Empty: everywhere. */
  scope: { paths: string[] };
  /** Summaries that are made without a request, and the model that writes them. Null: that of the session. */
  summaries: { whenArchived: boolean; model: string | null };
  /** Hosts that may be read although they are not on the public internet (I2). */
  input: { allowedUrlHosts: string[] };
  /** `store: false` (O3): what is done for every org, and for single orgs, by id. */
  openaiApi: { storeFalse: StoreFalse; orgs: Record<string, { storeFalse: StoreFalse }> };
  limits: Record<ChangeableLimit, number> & OwnerLimits & OrgsLimits;
}

export type StoreFalse = "forget" | "keep" | "refuse";

/** The limits of who runs the server. A limit that is null does not exist. */
export interface OwnerLimits {
  /** Null: there is no limit. That is the built-in value where no other machine shares the store. */
  concurrentRunsOfOwnerMax: number | null;
}

/** The limits of orgs. A limit that is null does not exist. */
export interface OrgsLimits {
  concurrentRunsPerOrgMax: number | null;
  requestsPerMinutePerOrgMax: number | null;
  /** Limits of single orgs, by id, which replace the limits above. */
  orgs: Record<string, OrgLimits>;
}

export interface OrgLimits {
  concurrentRunsMax: number | null;
  requestsPerMinuteMax: number | null;
}

/** Makes the typed configuration: a merged key overrides the built-in value. */
export function settleConfiguration(merged: LayerValues): Configuration {
  const values = new MergedValues(merged);
  const providers = settleProviders(values);
  const retrieval = settleRetrieval(values);
  const provider = values.text("provider") ?? providerByDefault(providers);
  return {
    provider,
    agentContext: values.text("agent_context") ?? "default",
    conversationContext: values.text("conversation_context") ?? "default",
    providers,
    retrieval,
    agentContexts: values
      .names("agent_contexts", ["default"])
      .map((id) => agentContext(values, id, { provider, index: retrieval.store })),
    conversationContexts: values
      .names("conversation_contexts", ["default"])
      .map((id) => conversationContext(values, id)),
    mcpServers: settleMcpServers(values),
    serve: {
      host: values.get<string>("serve.host") ?? "127.0.0.1",
      port: values.get<number>("serve.port") ?? 4270,
      allowedHosts: values.get<string[]>("serve.allowed_hosts") ?? [],
      allowedOrigins: values.get<string[]>("serve.allowed_origins") ?? [],
    },
    oidc: settleOidc(values),
    blobs: {
      store: values.get<BlobsConfiguration["store"]>("blobs.store") ?? null,
      url: values.text("blobs.url"),
      endpoint: values.text("blobs.endpoint"),
      region: values.text("blobs.region"),
      pathStyle: values.get<boolean>("blobs.path_style") ?? null,
    },
    records: recordsSettings(values),
    live: { redis: values.text("live.redis") },
    log: {
      format: values.get<"text" | "json">("log.format") ?? "text",
      level: values.get<Configuration["log"]["level"]>("log.level") ?? "warn",
    },
    metrics: {
      host: values.get<string>("metrics.host") ?? "127.0.0.1",
      port: values.get<number>("metrics.port") ?? null,
    },
    traces: {
      exporter: values.get<"none" | "otlp">("traces.exporter") ?? "none",
      ratio: values.get<number>("traces.ratio") ?? 1,
    },
    scope: { paths: values.get<string[]>("scope.paths") ?? [] },
    summaries: {
      whenArchived: values.get<boolean>("summaries.when_archived") ?? false,
      model: values.get<string>("summaries.model") ?? null,
    },
    input: { allowedUrlHosts: values.get<string[]>("input.allowed_url_hosts") ?? [] },
    openaiApi: openaiApi(values),
    limits: { ...effectiveLimits(values), ...ownerLimits(values), ...orgLimits(values) },
  };
}

function recordsSettings(values: MergedValues): Configuration["records"] {
  return {
    url: values.text("records.url"),
    poolMax: values.get<number>("records.pool_max") ?? limits.recordsPoolMax,
    connectMs: values.get<number>("records.connect_ms") ?? limits.recordsConnectMs,
    statementMs: values.get<number>("records.statement_ms") ?? limits.recordsStatementMs,
    lockMs: values.get<number>("records.lock_ms") ?? limits.recordsLockMs,
    idleInTransactionMs: values.get<number>("records.idle_in_transaction_ms") ?? limits.recordsIdleInTransactionMs,
    keepAliveMs: values.get<number>("records.keep_alive_ms") ?? limits.recordsKeepAliveMs,
    applicationName: values.get<string>("records.application_name") ?? "aptove",
  };
}

/** Returns the name that lists show for an id: `code-review` becomes `Code review`. */
function titleOf(id: string): string {
  return id.charAt(0).toUpperCase() + id.slice(1).replace(/[-_]/g, " ");
}

export function agentContext(
  values: MergedValues,
  id: string,
  usual: { provider: string; index: string },
): AgentContext {
  const key = `agent_contexts.${id}`;
  return {
    id,
    name: values.get<string>(`${key}.name`) ?? titleOf(id),
    provider: values.get<string>(`${key}.provider`) ?? usual.provider,
    index: values.get<string>(`${key}.index`) ?? usual.index,
  };
}

export function conversationContext(values: MergedValues, id: string): ConversationContext {
  const key = `conversation_contexts.${id}`;
  const modeIds = values.names(
    `${key}.modes`,
    builtInModes.map((mode) => mode.id),
  );
  const subagents = values.get<boolean>(`${key}.subagents`);
  const rules = values.get<boolean>(`${key}.rules`);
  const place = values.get<boolean>(`${key}.place`);
  const memory = values.get<boolean>(`${key}.memory`);
  const skills = values.get<boolean>(`${key}.skills`);
  const openModes = values.get<boolean>(`${key}.open_modes`);
  return {
    id,
    name: values.get<string>(`${key}.name`) ?? titleOf(id),
    bootPrompt: values.get<string>(`${key}.boot_prompt`) ?? builtInBootPrompt,
    model: values.text(`${key}.model`),
    history: values.get<"chain" | "replay">(`${key}.history`) ?? null,
    retrieval: values.get<"required" | "optional" | "off">(`${key}.retrieval`) ?? "required",
    toolResend: values.get<"always" | "when-changed">(`${key}.tool_resend`) ?? "always",
    tools: structuredClone(values.get<ToolDefinition[]>(`${key}.tools`) ?? []),
    modes: modeIds.map((mode) => modeOf(values, `${key}.modes.${mode}`, mode)),
    settings: modelSettings(values, `${key}.settings`),
    ...(subagents !== undefined && { subagents }),
    ...(rules !== undefined && { rules }),
    ...(place !== undefined && { place }),
    ...(memory !== undefined && { memory }),
    ...(skills !== undefined && { skills }),
    ...(openModes !== undefined && { openModes }),
  };
}

function modeOf(values: MergedValues, key: string, id: string): Mode {
  const builtIn = builtInModes.find((mode) => mode.id === id);
  return {
    id,
    instructions: values.get<string>(`${key}.instructions`) ?? builtIn?.instructions ?? "",
    tools: values.get<string[]>(`${key}.tools`) ?? builtIn?.tools ?? null,
    forceTool: values.get<string>(`${key}.force_tool`) ?? builtIn?.forceTool ?? null,
  };
}

function modelSettings(values: MergedValues, key: string): ModelSettings {
  const temperature = values.get<number>(`${key}.temperature`);
  const maxOutputTokens = values.get<number>(`${key}.max_output_tokens`);
  const reasoningEffort = values.get<NonNullable<ModelSettings["reasoningEffort"]>>(`${key}.reasoning_effort`);
  const reasoningSummary = values.get<NonNullable<ModelSettings["reasoningSummary"]>>(`${key}.reasoning_summary`);
  const verbosity = values.get<NonNullable<ModelSettings["verbosity"]>>(`${key}.verbosity`);
  const maxSteps = values.get<number>(`${key}.max_steps`);
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(reasoningSummary === undefined ? {} : { reasoningSummary }),
    ...(verbosity === undefined ? {} : { verbosity }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
  };
}

function openaiApi(values: MergedValues): Configuration["openaiApi"] {
  const storeFalse = values.get<StoreFalse>("openai_api.store_false") ?? "forget";
  const of = (id: string): StoreFalse => values.get<StoreFalse>(`openai_api.orgs.${id}.store_false`) ?? storeFalse;
  const names = values.names("openai_api.orgs", []);
  return { storeFalse, orgs: Object.fromEntries(names.map((id) => [id, { storeFalse: of(id) }])) };
}

function ownerLimits(values: MergedValues): OwnerLimits {
  const isShared = (values.get<string>("records.url") ?? null) !== null;
  const builtIn = isShared ? limits.concurrentRunsPerUserMax : null;
  return { concurrentRunsOfOwnerMax: values.get<number>("limits.concurrent_runs_per_user_max") ?? builtIn };
}

function orgLimits(values: MergedValues): OrgsLimits {
  const concurrentRunsPerOrgMax = values.get<number>("limits.concurrent_runs_per_org_max") ?? null;
  const requestsPerMinutePerOrgMax = values.get<number>("limits.requests_per_minute_per_org_max") ?? null;
  const of = (key: string): OrgLimits => ({
    concurrentRunsMax: values.get<number>(`${key}.concurrent_runs_max`) ?? concurrentRunsPerOrgMax,
    requestsPerMinuteMax: values.get<number>(`${key}.requests_per_minute_max`) ?? requestsPerMinutePerOrgMax,
  });
  const names = values.names("limits.orgs", []);
  const orgs = Object.fromEntries(names.map((id) => [id, of(`limits.orgs.${id}`)]));
  return { concurrentRunsPerOrgMax, requestsPerMinutePerOrgMax, orgs };
}

function effectiveLimits(values: MergedValues): Record<ChangeableLimit, number> {
  const names = Object.keys(changeableLimits) as ChangeableLimit[];
  const entries = names.map((name) => [name, values.get<number>(`limits.${snakeCase(name)}`) ?? limits[name]]);
  return Object.fromEntries(entries) as Record<ChangeableLimit, number>;
}
