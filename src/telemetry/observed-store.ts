/** Reports every call of a store to an observer, whatever its driver. */
import { failureOf } from "../domain/errors.ts";
import { observesStores, type Observer, type StoreName } from "./observer.ts";

/** These methods wait for something else, so their duration does not measure the store. */
const waits: readonly PropertyKey[] = ["wait", "close"];

type Method = (...args: unknown[]) => unknown;

/** Returns the store with every method observed, those of its parts too. Returns the store itself for an observer that observes none. */
export function observedStore<Store extends object>(store: Store, name: StoreName, observer: Observer): Store {
  return !observesStores(observer)
    ? store
    : observedMethods(store, "", (method, operation) => observed(method, { store: name, operation }, observer));
}

/** `part` is the prefix of the operations, for example `turns.`. */
function observedMethods<T extends object>(
  methods: T,
  part: string,
  observe: (method: Method, operation: string) => Method,
): T {
  const wrapped = new Map<string, Method | object>();
  return new Proxy(methods, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof key === "symbol") return member;
      let known = wrapped.get(key);
      if (known === undefined) {
        if (typeof member === "object" && member !== null) known = observedMethods(member, `${part}${key}.`, observe);
        else if (typeof member === "function") {
          const bound = member.bind(target) as Method;
          known = waits.includes(key) ? bound : observe(bound, `${part}${key}`);
        } else return member;
        wrapped.set(key, known);
      }
      return known;
    },
  });
}

function observed(method: Method, what: { store: StoreName; operation: string }, observer: Observer): Method {
  return (...args) => {
    const activity = observer.storeCall(what);
    const result = activity.within(() => method(...args));
    if (!(result instanceof Promise)) {
      activity.end({ code: null });
      return result;
    }
    return result.then(
      (value: unknown) => {
        activity.end({ code: null });
        return value;
      },
      (error: unknown) => {
        activity.end({ code: failureOf(error).code });
        throw error;
      },
    );
  };
}
