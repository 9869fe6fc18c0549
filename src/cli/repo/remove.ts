import type { CliContext } from "../context.ts";
import { UsageError } from "../errors.ts";
import { formatJson, plain } from "../output.ts";
import { repositoryArgument } from "../repository-argument.ts";
import { type AddrOptions, withClient } from "../with-client.ts";

/** Options of `repo rm`. */
export interface RemoveOptions extends AddrOptions {
  readonly yes?: boolean;
}

/** Removes a repository after a person, or `--yes`, has confirmed it. */
export async function runRepoRemove(path: string, options: RemoveOptions, context: CliContext): Promise<number> {
  const repository = repositoryArgument(path);
  const { io } = context;
  if (!options.yes) {
    if (!io.isTerminal) throw new UsageError(`removing ${plain(path)} needs to be confirmed`, "add --yes");
    const answer = await io.ask(`Remove ${plain(path)} with all its content? [y/N] `);
    if (!/^\s*y(es)?\s*$/i.test(answer)) {
      io.stderr("gitaly: nothing removed\n");
      return 1;
    }
  }
  await withClient(options, context, (client, signal) => client.repository.removeRepository({ repository }, { signal }));
  io.stdout(options.json ? formatJson({ relative_path: path, removed: true }) : `removed ${plain(path)}\n`);
  return 0;
}
