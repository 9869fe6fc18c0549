import type { ConfigInput } from "../../src/config/index.ts";

/** Input for the configuration: a file's text (as `gitaly.toml`), environment and flags; nothing of the real process. */
export function configInput(given: { toml?: string; env?: Record<string, string>; flags?: ConfigInput["flags"] } = {}): ConfigInput {
  return {
    flags: { ...(given.toml === undefined ? {} : { config: "gitaly.toml" }), ...given.flags },
    env: given.env ?? {},
    cwd: "/home/u",
    readFile: (path) => {
      if (path === "gitaly.toml" && given.toml !== undefined) return given.toml;
      throw Object.assign(new Error(`no file ${path}`), { code: "ENOENT" });
    },
  };
}

/** One line per problem of the configuration's error: `CODE WHERE NAME: MESSAGE`. Empty where `load` does not throw. */
export function problemsOf(load: () => unknown): string[] {
  try {
    load();
  } catch (error) {
    const { fields } = error as { fields: { problems: { code: string; where: string; name: string; message: string }[] } };
    return fields.problems.map(({ code, where, name, message }) => `${code} ${where} ${name}: ${message}`);
  }
  return [];
}
