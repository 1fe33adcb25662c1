/** Tells an observer of every call of a store, whatever its driver. */
import { failureOf } from "../domain/errors.ts";
import { noObserver, type Observer, type StoreName } from "./observer.ts";

/** They take as long as there is nothing to do, which says nothing of the store. */
const waits: readonly PropertyKey[] = ["wait", "close"];

type Method = (...args: unknown[]) => unknown;

/** The store itself where nobody looks. */
export function observedStore<Store extends object>(store: Store, name: StoreName, observer: Observer): Store {
  if (observer === noObserver) return store;
  const wrapped = new Map<PropertyKey, Method>();
  return new Proxy(store, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key);
      if (typeof method !== "function" || typeof key === "symbol") return method;
      let call = wrapped.get(key);
      if (call === undefined) {
        const bound = method.bind(target) as Method;
        call = waits.includes(key) ? bound : observed(bound, { store: name, operation: key }, observer);
        wrapped.set(key, call);
      }
      return call;
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
