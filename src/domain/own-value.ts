/** Returns the value of a key that comes from outside. A plain object also answers to keys that it inherits, such as `constructor`. */
export function ownValue<Value>(values: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
