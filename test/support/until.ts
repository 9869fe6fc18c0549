/** Waits until `condition` holds; fails after `limitMs` with what it was waiting for. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`after ${limitMs} ms still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
