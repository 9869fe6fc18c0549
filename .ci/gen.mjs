// Writes what is generated: from proto/ the TypeScript types and the descriptor set that reflection serves, from
// src/ring/rendezvous.wat the module that carries its assembled bytes.
// With --check it writes nothing and fails where the committed files differ.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import createWabt from "wabt";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes("--check");
const types = join(root, "src", "proto", "gen");
const descriptors = join(root, "proto", "descriptors.binpb");
const wasm = join(root, "src", "ring", "rendezvous-wasm.ts");
const scratch = check ? mkdtempSync(join(tmpdir(), "gen-")) : undefined;
const typesOut = scratch ? join(scratch, "types") : types;
const descriptorsOut = scratch ? join(scratch, "descriptors.binpb") : descriptors;
const wasmOut = scratch ? join(scratch, "rendezvous-wasm.ts") : wasm;

function files(dir) {
  return readdirSync(dir)
    .flatMap((name) => (statSync(join(dir, name)).isDirectory() ? files(join(dir, name)) : [join(dir, name)]))
    .sort();
}

function run(command, args) {
  const { status } = spawnSync(join(root, "node_modules", ".bin", command), args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
}

if (!check) rmSync(typesOut, { recursive: true, force: true });
const protos = files(join(root, "proto"))
  .filter((path) => path.endsWith(".proto"))
  .map((path) => relative(join(root, "proto"), path));
run("proto-loader-gen-types", [
  "--longs=String",
  "--enums=String",
  "--defaults",
  "--oneofs",
  "--importFileExtension=.ts",
  "--grpcLib=@grpc/grpc-js",
  `--outDir=${typesOut}`,
  "-I",
  "proto",
  "--",
  ...protos,
]);
run("buf", ["build", "proto", "--as-file-descriptor-set", "--exclude-source-info", "-o", descriptorsOut]);

const wabt = await createWabt();
const assembled = wabt.parseWat("rendezvous.wat", readFileSync(join(root, "src", "ring", "rendezvous.wat"), "utf8")).toBinary({}).buffer;
const lines = Buffer.from(assembled)
  .toString("base64")
  .match(/.{1,120}/g);
writeFileSync(
  wasmOut,
  `/** rendezvous.wat assembled, base64; written by \`npm run gen\`. */\nexport const rendezvousWasm: string = [\n${lines.map((line) => `  "${line}",\n`).join("")}].join("");\n`,
);

if (scratch) {
  const names = (dir) => files(dir).map((path) => relative(dir, path));
  const pairs = [...new Set([...names(typesOut), ...names(types)])].map((name) => [join(typesOut, name), join(types, name)]);
  const different = [...pairs, [descriptorsOut, descriptors], [wasmOut, wasm]].filter(([a, b]) => {
    const [left, right] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }) && readFileSync(path));
    return !left || !right || !left.equals(right);
  });
  rmSync(scratch, { recursive: true });
  if (different.length > 0) {
    console.error(
      `generated files differ from their sources (run "npm run gen"): ${different.map(([, path]) => relative(root, path)).join(", ")}`,
    );
    process.exit(1);
  }
}
