/** Checks the files of deploy/: they are valid, name only what exists, and fit each other and the program. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { paths } from "../src/protocol/routes/paths.ts";
import { knownKeys } from "../src/configuration/known-keys.ts";
import { loadConfiguration, type Configuration } from "../src/configuration/configuration.ts";
import { temporaryFolder } from "./temporary-folder.ts";

interface Node {
  [key: string]: Node;
}

const folder = new URL("../deploy/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), "utf8");

/** The variables that the program reads, and those that its libraries read. */
const variables = new Set([
  ...knownKeys().flatMap(({ field }) => field.env ?? []),
  "APTOVE_DATA_DIR",
  "OPENAI_API_KEY",
  "AWS_REGION",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
]);

function checkVariables(names: string[]): void {
  for (const name of names) assert.ok(variables.has(name), `${name} is no variable of the program`);
}

/** Parses the text as the program's configuration, where unknown keys and wrong values are errors. */
async function configurationOf(context: TestContext, text: string): Promise<Configuration> {
  const dataDir = await temporaryFolder(context);
  writeFileSync(join(dataDir, "config.toml"), text, { mode: 0o600 });
  return loadConfiguration({ dataDir, env: {} }).configuration;
}

/** Returns every key with its path, so that a misspelt one is found. Maps with free keys, such as labels, are left out. */
function keysOf(value: unknown, free: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysOf(item, free));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(free.includes(key) ? [] : keysOf(inner, free))]);
}

const kubernetesKeys = new Set(
  `apiVersion kind metadata name labels annotations data spec replicas selector matchLabels strategy type rollingUpdate
  maxUnavailable maxSurge template automountServiceAccountToken terminationGracePeriodSeconds securityContext runAsNonRoot
  runAsUser runAsGroup fsGroup seccompProfile containers image ports containerPort env value valueFrom secretKeyRef key
  optional startupProbe livenessProbe readinessProbe httpGet path port periodSeconds timeoutSeconds failureThreshold
  lifecycle preStop sleep seconds resources requests limits cpu memory allowPrivilegeEscalation readOnlyRootFilesystem
  capabilities drop volumeMounts mountPath subPath readOnly volumes emptyDir configMap topologySpreadConstraints maxSkew
  topologyKey whenUnsatisfiable labelSelector targetPort podSelector policyTypes ingress from namespaceSelector tls hosts
  secretName rules host http paths pathType backend service number`.split(/\s+/),
);

test("[R4] [H2] the Kubernetes example: every name that it uses exists, and probes and grace periods fit the program", async (t) => {
  const documents = parseAllDocuments(read("kubernetes.yaml"), { strict: true, uniqueKeys: true });
  assert.deepEqual(
    documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]),
    [],
  );
  const objects = documents.map((document) => document.toJS() as Node);
  const free = ["labels", "matchLabels", "annotations", "data"];
  // Names of labels and annotations have a slash, and are in selectors too.
  const keys = keysOf(objects, free).filter((key) => !key.includes("/"));
  for (const key of keys) assert.ok(kubernetesKeys.has(key), `${key} is no key`);
  const ofKind = (kind: string): Node => {
    const found = objects.filter((object) => (object["kind"] as unknown) === kind);
    assert.equal(found.length, 1, kind);
    return found[0] as Node;
  };
  const deployment = ofKind("Deployment")["spec"] as Node;
  const pod = deployment["template"]?.["spec"] as Node;
  const [container] = pod["containers"] as unknown as Node[];
  assert.ok(container !== undefined);
  const labels = deployment["template"]?.["metadata"]?.["labels"];
  for (const selector of [
    deployment["selector"]?.["matchLabels"],
    ofKind("Service")["spec"]?.["selector"],
    ofKind("PodDisruptionBudget")["spec"]?.["selector"]?.["matchLabels"],
    ofKind("NetworkPolicy")["spec"]?.["podSelector"]?.["matchLabels"],
  ]) {
    assert.deepEqual(selector, labels);
  }
  const ports = new Map((container["ports"] as unknown as Node[]).map((port) => [port["name"], port["containerPort"]]));
  const routes = new Set<string>(Object.values(paths).map(({ path }) => path));
  for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
    const get = container[probe]?.["httpGet"] as Node;
    assert.ok(ports.has(get["port"] as Node) && routes.has(String(get["path"])), probe);
  }
  const [port] = (ofKind("Service")["spec"]?.["ports"] ?? []) as unknown as Node[];
  assert.ok(ports.has(port?.["targetPort"] as Node));
  const env = container["env"] as unknown as { name: string; valueFrom?: { secretKeyRef: { name: string } } }[];
  checkVariables(env.map(({ name }) => name));
  for (const { valueFrom } of env) assert.ok(valueFrom === undefined || valueFrom.secretKeyRef.name === "aptove");
  const mounted = (container["volumeMounts"] as unknown as Node[]).map((mount) => mount["name"]);
  assert.deepEqual(
    mounted.toSorted(),
    (pod["volumes"] as unknown as Node[]).map((volume) => volume["name"]).toSorted(),
  );

  const { limits } = await configurationOf(t, String(ofKind("ConfigMap")["data"]?.["config.toml"]));
  const preStopMs = Number(container["lifecycle"]?.["preStop"]?.["sleep"]?.["seconds"]) * 1_000;
  const graceMs = Number(pod["terminationGracePeriodSeconds"]) * 1_000;
  assert.ok(graceMs >= preStopMs + limits.shutdownGraceMs + 10_000, `${graceMs} ms are too few`);
});

const composeKeys = new Set(
  `name services image build context dockerfile deploy replicas restart stop_grace_period environment volumes depends_on condition
  healthcheck test interval timeout retries start_period ports`.split(/\s+/),
);

test("[R4] the compose file, the image and the proxies: every name exists, and grace periods fit", async (t) => {
  const compose = parse(read("compose.yaml"), { strict: true, uniqueKeys: true }) as Node;
  const services = compose["services"] as Node;
  for (const service of Object.values(services)) {
    for (const key of keysOf(service, ["environment", "depends_on"]))
      assert.ok(composeKeys.has(key), `${key} is no key`);
  }
  const { aptove } = services;
  assert.ok(aptove !== undefined);
  checkVariables(Object.keys(aptove["environment"] as Node));
  const volumes = Object.values(services).flatMap((service) => service["volumes"] as unknown as string[]);
  for (const volume of volumes) {
    const [source = ""] = volume.split(":");
    if (source.startsWith("./")) read(source.slice(2));
    else assert.ok(Object.hasOwn(compose["volumes"] as Node, source), source);
  }
  for (const service of Object.values(services)) {
    const after = service["depends_on"] ?? [];
    for (const name of Array.isArray(after) ? (after as string[]) : Object.keys(after)) {
      assert.ok(Object.hasOwn(services, name), name);
    }
  }
  const { limits } = await configurationOf(t, read("config.toml"));
  const graceSeconds = Number(/^(\d+)s$/.exec(String(aptove["stop_grace_period"]))?.[1]);
  assert.ok(graceSeconds * 1_000 >= limits.shutdownGraceMs + 10_000);

  const image = read("Dockerfile");
  const set = /^ENV ((?:.*\\\n)*.*)$/m.exec(image)?.[1] ?? "";
  checkVariables([...set.matchAll(/(\w+)=/g)].map(([, name = ""]) => name));
  const listens = ["APTOVE_PORT", "APTOVE_METRICS_PORT"].map((name) => new RegExp(`${name}=(\\d+)`).exec(set)?.[1]);
  assert.deepEqual(/^EXPOSE (.*)$/m.exec(image)?.[1]?.split(" "), listens);
  assert.match(read("Caddyfile"), new RegExp(`aptove ${listens[0]}\\b`));
  for (const name of ["nginx.conf", "Caddyfile"]) {
    const text = read(name);
    assert.equal(text.split("{").length, text.split("}").length, `the braces of ${name}`);
  }
  assert.match(read("nginx.conf"), /proxy_buffering off/);
  const seconds = Number(/proxy_read_timeout (\d+)s/.exec(read("nginx.conf"))?.[1]);
  assert.ok(seconds * 1_000 > 2 * limits.heartbeatMs);
});

test("[L1] the image is built from sources that exist, without a clone's packages, and starts the program of the package", () => {
  const dockerfile = read("Dockerfile");
  const root = new URL("../", import.meta.url);
  const { bin } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { bin: Record<string, string> };
  assert.deepEqual(JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? ""), [
    "node",
    `/app/node_modules/aptove/${bin["aptove"]}`,
  ]);
  const ignored = readFileSync(new URL(".dockerignore", root), "utf8").split("\n");
  for (const name of [".git", "node_modules", ".cache"]) assert.ok(ignored.includes(name), `${name} is not left out`);
  assert.match(dockerfile, /^USER node$/m);
  // Only the lock file decides what is installed. `npm run test:package` carries out these steps.
  assert.match(dockerfile, /^RUN npm ci --omit=dev/m);
  assert.doesNotMatch(dockerfile, /^RUN .*npm install/m);
  checkVariables([...dockerfile.matchAll(/\b(APTOVE_[A-Z_]+)=/g)].map((match) => match[1] ?? ""));
});
