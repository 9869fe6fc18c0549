import { type Command, Option } from "commander";
import { addAddrOptions } from "../addr-options.ts";
import type { Submit } from "../context.ts";
import type { AddrOptions } from "../with-client.ts";
import { type CreateOptions, runRepoCreate } from "./create.ts";
import { runRepoInfo } from "./info.ts";
import { type ListOptions, runRepoList } from "./list.ts";
import { type RemoveOptions, runRepoRemove } from "./remove.ts";

const repoHelp = "path of the repository, for example demo/app.git";

/** `gitaly repo create|list|info|rm` */
export function addRepoCommand(parent: Command, submit: Submit): void {
  const repo = parent.command("repo").description("Create, list, describe and remove repositories");
  addAddrOptions(repo.command("create"))
    .description("Create an empty repository and print its URL")
    .argument("<repo>", repoHelp)
    .addOption(new Option("--object-format <format>", "hash of its objects").choices(["sha1", "sha256"]).default("sha1"))
    .option("--default-branch <name>", "branch that HEAD names", "main")
    .action((path: string, options: CreateOptions) => submit((context) => runRepoCreate(path, options, context)));
  addAddrOptions(repo.command("list"))
    .description("List the repositories of the cluster")
    .option("--prefix <path>", "only those whose path begins so")
    .action((options: ListOptions) => submit((context) => runRepoList(options, context)));
  addAddrOptions(repo.command("info"))
    .description("Describe one repository")
    .argument("<repo>", repoHelp)
    .action((path: string, options: AddrOptions) => submit((context) => runRepoInfo(path, options, context)));
  addAddrOptions(repo.command("rm"))
    .description("Remove a repository with all its content")
    .argument("<repo>", repoHelp)
    .option("--yes", "do not ask")
    .action((path: string, options: RemoveOptions) => submit((context) => runRepoRemove(path, options, context)));
}
