import type { Member__Output } from "../../proto/gen/gitaly_gossip/v1/Member.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../errors.ts";
import { formatJson, plain } from "../output.ts";
import { repositoryArgument } from "../repository-argument.ts";
import { type AddrOptions, normalizeAddress, withClient } from "../with-client.ts";

/** Options of `repo create`. */
export interface CreateOptions extends AddrOptions {
  readonly objectFormat: "sha1" | "sha256";
  readonly defaultBranch: string;
}

/** Creates a repository and prints the URL to clone it from and push it to. */
export async function runRepoCreate(path: string, options: CreateOptions, context: CliContext): Promise<number> {
  const repository = repositoryArgument(path);
  if (options.defaultBranch === "") throw new UsageError("--default-branch must not be empty");
  const { members, failure } = await withClient(options, context, async (client, signal) => {
    const objectFormat = options.objectFormat === "sha256" ? "OBJECT_FORMAT_SHA256" : "OBJECT_FORMAT_SHA1";
    const defaultBranch = Buffer.from(options.defaultBranch.replace(/^refs\/heads\//, ""), "utf8");
    await client.repository.createRepository({ repository, objectFormat, defaultBranch }, { signal });
    // The repository exists by now, so a failure to name its URL must not look like a failure to create it.
    return client.cluster.listMembers({}, { signal }).then(
      ({ members }) => ({ members, failure: false }),
      () => ({ members: [], failure: true }),
    );
  });
  const base = readyHttpUrl(members, normalizeAddress(options.addr));
  const url = base === undefined ? null : `${base}/${encodePath(path)}`;
  const { stdout } = context.io;
  if (options.json) stdout(formatJson({ relative_path: path, object_format: options.objectFormat, url }));
  else if (url !== null) {
    stdout(`created ${plain(path)}\n  clone  git clone ${plain(url)}\n  push   git push ${plain(url)} ${plain(options.defaultBranch)}\n`);
  } else
    stdout(`created ${plain(path)}; ${failure ? "the members could not be asked for its URL" : "no ready member names an HTTP address"}\n`);
  return 0;
}

/** HTTP address of a ready member, of the asked one if it is ready. */
function readyHttpUrl(members: readonly Member__Output[], asked: string): string | undefined {
  const ready = members.filter((member) => member.status === "ready" && member.httpUrl !== "");
  const best = ready.find((member) => `grpc://${member.grpcAddress}` === asked) ?? ready[0];
  return best?.httpUrl.replace(/\/+$/, "");
}

/** The path as it stands in a URL; what is legal there stays readable, but for a first segment that would be the node's own pages. */
function encodePath(path: string): string {
  return encodeURI(path)
    .replace(/[?#]/g, (char) => (char === "?" ? "%3F" : "%23"))
    .replace(/^-\//, "%2D/");
}
