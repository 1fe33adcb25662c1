/** What the bundler does to modules so that a start does less. Plain JavaScript for any Node from 20 on. */
import { readFileSync } from "node:fs";

/** The modules of Node that take a millisecond or more to load. */
const costly = ["child_process", "crypto", "fs/promises", "http", "https", "net", "readline", "worker_threads", "zlib"];

/**
 * Loads only what is used of Node's modules. An import of one reads all of its exports, and with them all that they load when they are first read: for
 * `node:crypto` that is the whole of WebCrypto. So the bundler gets an object that inherits the exports. A costly module is loaded when one of its exports is first read.
 */
export const plainBuiltins = {
  name: "plain-builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin", sideEffects: false }));
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
      const load = `process.getBuiltinModule(${JSON.stringify(path)})`;
      const isCostly = costly.includes(path.slice("node:".length));
      return {
        contents: isCostly
          ? `module.exports = Object.create(new Proxy({}, { get: (_, name) => ${load}[name], has: (_, name) => name in ${load} }));`
          : `const loaded = ${load}; module.exports = typeof loaded === "function" ? loaded : Object.create(loaded);`,
      };
    });
  },
};

/** Leaves out the words of zod's messages in fifty other languages, which nothing uses: they would be a tenth of the program. */
export const englishZod = {
  name: "english-zod",
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/**
 * Builds each schema of the Agent Client Protocol when it is first used: building all of them takes as long as starting Node. The SDK declares them
 * one after the other, as constants that refer to earlier ones.
 */
export const lazyAcpSchemas = {
  name: "lazy-acp-schemas",
  setup(build) {
    build.onLoad({ filter: /@agentclientprotocol[\\/]sdk[\\/].*[\\/]zod\.gen\.js$/ }, ({ path }) => ({
      contents: `${declareLazily(readFileSync(path, "utf8"))}\n${lazily}`,
    }));
    // What this declares for each schema is used by no one, but the bundler cannot know that building it has no effect.
    build.onResolve({ filter: /[\\/]guards\.gen\.js$/ }, async ({ path, pluginData, ...from }) =>
      pluginData === "resolved"
        ? null
        : { ...(await build.resolve(path, { ...from, pluginData: "resolved" })), sideEffects: false },
    );
  },
};

function declareLazily(text) {
  let declared = 0;
  const changed = text.replaceAll(
    /^export const (z\w+) = ([\s\S]*?);\n(?=\/[/*]|export|\n|$(?![\s\S]))/gm,
    (_, name, built) => {
      declared += 1;
      return `export const ${name} = /* @__PURE__ */ lazily(() => ${built});\n`;
    },
  );
  if (declared !== text.match(/^export const /gm)?.length)
    throw new Error("the SDK declares its schemas in another way");
  return changed;
}

/** A stand-in that builds the schema when one of its properties is first read. */
const lazily = `
function lazily(build) {
  let built;
  const schema = () => (built ??= build());
  return new Proxy(Object.prototype, {
    get: (_, name) => schema()[name],
    set: (_, name, value) => Reflect.set(schema(), name, value),
    has: (_, name) => name in schema(),
    getPrototypeOf: () => Object.getPrototypeOf(schema()),
  });
}`;
