import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type GrpcObject, loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync, type MessageTypeDefinition, type Options, type PackageDefinition } from "@grpc/proto-loader";
import { packageRoot } from "../base/index.ts";

/** Must equal the options of the type generator (`.ci/gen.mjs`), else the types lie. */
const loadOptions: Options = { longs: String, enums: String, defaults: true, oneofs: true };

/** Directory of the .proto files. */
export const protoDir: string = join(packageRoot, "proto");

function protoFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? protoFiles(join(dir, entry.name)) : [join(dir, entry.name)]))
    .filter((path) => path.endsWith(".proto"))
    .sort();
}

/** The .proto files, relative to `protoDir`. */
export const protoFileNames: readonly string[] = protoFiles(protoDir).map((path) => relative(protoDir, path));

/** Every message and service of proto/, with their codecs. */
export const packageDefinition: PackageDefinition = loadSync([...protoFileNames], { ...loadOptions, includeDirs: [protoDir] });

/** The same as client constructors; cast it to the generated `ProtoGrpcType`s. */
export const grpcObject: GrpcObject = loadPackageDefinition(packageDefinition);

/** Encodes and decodes one message type outside of a call. */
export interface MessageCodec<In extends object, Out extends object> {
  encode(message: In): Buffer;
  /** Throws the library's error on bytes that are not such a message. */
  decode(bytes: Uint8Array): Out;
}

/** The codec of a message by its full name, for example `gitaly_gossip.v1.Generation`. */
export function messageCodec<In extends object, Out extends object>(name: string): MessageCodec<In, Out> {
  const definition = packageDefinition[name] as MessageTypeDefinition<In, Out> | undefined;
  if (!definition?.serialize) throw new TypeError(`no message type ${name}`);
  return {
    encode: (message) => definition.serialize(message),
    decode: (bytes) => definition.deserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
  };
}

/** The serialized FileDescriptorSet of proto/, for reflection. */
export function readDescriptorSet(): Buffer {
  return readFileSync(join(protoDir, "descriptors.binpb"));
}
